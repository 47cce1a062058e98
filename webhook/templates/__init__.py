"""InferenceTemplates at admission: an object is filled with their content before it is read (ADR 41).

content     which templates a write needs, and their content as one base
fill        the base put under the author's object, and what its variables stand for there
refill      an object that was filled before taken apart, and filled again
unfilled    an object without content, such that its author reads why
"""
