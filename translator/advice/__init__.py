"""What nobody refuses, and what whoever wrote it would want to know; asked for, never computed per change."""
