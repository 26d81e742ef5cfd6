"""Text analysis for keyword search: languages, stems, codes and scripts without spaces."""
