"""What the values of a robot file must fulfil together, beside the bounds of each."""
