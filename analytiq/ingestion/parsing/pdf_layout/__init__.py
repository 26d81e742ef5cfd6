"""The structure of PDF pages, from the positions of pdfium's characters and paths."""
