"""One node attempt: gather the outputs it refers to, resolve templates, run, classify, hand the result on."""
