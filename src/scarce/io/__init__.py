"""Tables and arrays in, whole files out: readers, schema, labels, model files."""
