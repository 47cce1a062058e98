"""InferenceTemplates at admission: an object is filled with their content before it is read (ADR 41).

content     which templates a write needs, and their content as one base
separate    what the author wrote, taken out of an object that was filled before
values      what the variables of templates stand for in one object
fill        the base put under the author's object
refill      these in order, for one write
unfilled    an object without content, such that its author reads why
"""
