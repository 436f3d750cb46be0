"""What `to_dict` gives -> what the templates draw: rows, places, widths; pure, and without a word of HTML."""
