"""InferenceTemplates at admission: an object is filled with their content before it is read (ADR 41).

content     which templates a write needs, and their content as one base
values      what the variables of templates stand for in one object
fill        the base put under the author's object
refill      an object that was filled before taken apart, and filled again
unfilled    an object without content, such that its author reads why
"""
