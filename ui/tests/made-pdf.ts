/** Small PDFs with real text, made as the tests need them. */

export interface MadePage {
  lines: readonly string[];
  /** Quarter turns with the clock, in degrees. */
  rotate?: number;
  width?: number;
  height?: number;
}

const escaped = (line: string) => line.replace(/[\\()]/g, (character) => `\\${character}`);

export function pdfOf(pages: readonly MadePage[]): Buffer {
  const font = 3;
  const objects: string[] = ["<< /Type /Catalog /Pages 2 0 R >>", "", "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"];
  const kids: number[] = [];
  for (const { lines, rotate = 0, width = 595, height = 842 } of pages) {
    const content = `BT /F1 14 Tf 18 TL 60 ${height - 80} Td ${lines.map((line) => `(${escaped(line)}) Tj`).join(" T* ")} ET`;
    objects.push(`<< /Length ${content.length} >>\nstream\n${content}\nendstream`);
    objects.push(
      `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 ${width} ${height}] /Rotate ${rotate} ` +
        `/Resources << /Font << /F1 ${font} 0 R >> >> /Contents ${objects.length} 0 R >>`,
    );
    kids.push(objects.length);
  }
  objects[1] = `<< /Type /Pages /Kids [${kids.map((kid) => `${kid} 0 R`).join(" ")}] /Count ${kids.length} >>`;
  let file = "%PDF-1.4\n";
  const offsets = objects.map((object, index) => {
    const offset = file.length;
    file += `${index + 1} 0 obj\n${object}\nendobj\n`;
    return offset;
  });
  const table = file.length;
  file += `xref\n0 ${objects.length + 1}\n0000000000 65535 f \n`;
  file += offsets.map((offset) => `${String(offset).padStart(10, "0")} 00000 n \n`).join("");
  file += `trailer\n<< /Size ${objects.length + 1} /Root 1 0 R >>\nstartxref\n${table}\n%%EOF\n`;
  return Buffer.from(file, "latin1");
}
