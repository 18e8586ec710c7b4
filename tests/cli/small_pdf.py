"""Small PDF files, made of nothing but Python: a page for each list of lines."""


def escaped(line):
    return line.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)")


def pdf(pages):
    """The bytes of a file whose pages have these lines in Helvetica."""
    objects = ["<< /Type /Catalog /Pages 2 0 R >>", None,
               "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>"]
    kids = []
    for lines in pages:
        shown = " T* ".join(f"({escaped(line)}) Tj" for line in lines)
        content = f"BT /F1 12 Tf 14 TL 72 720 Td {shown} ET"
        objects.append(f"<< /Length {len(content)} >>\nstream\n{content}\nendstream")
        objects.append("<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources "
                       f"<< /Font << /F1 3 0 R >> >> /Contents {len(objects)} 0 R >>")
        kids.append(f"{len(objects)} 0 R")
    objects[1] = f"<< /Type /Pages /Kids [{' '.join(kids)}] /Count {len(kids)} >>"
    out, places = "%PDF-1.4\n", []
    for number, one in enumerate(objects, 1):
        places.append(len(out))
        out += f"{number} 0 obj\n{one}\nendobj\n"
    table = "".join(f"{at:010d} 00000 n \n" for at in places)
    count = len(objects) + 1
    return (f"{out}xref\n0 {count}\n0000000000 65535 f \n{table}trailer\n<< /Size {count} /Root 1 0 R >>\n"
            f"startxref\n{len(out)}\n%%EOF\n").encode("latin-1")
