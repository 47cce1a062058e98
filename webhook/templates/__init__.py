"""InferenceTemplates at admission: an object is filled with their content before it is read (ADR 41).

content     which templates a write needs, and their content as one base
fill        the base put under the author's object, what its variables stand for there, and taken out again;
            without content, the object such that its author reads why
"""
