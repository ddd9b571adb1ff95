"""The exercises: notebooks derived from solutions/, and the checks that grade them."""
