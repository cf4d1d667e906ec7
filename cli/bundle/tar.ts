const BLOCK = 512

/** Returns an archive in the ustar format. @param files text by path, each path of at most 100 characters */
export function tarOf(files: ReadonlyMap<string, string>): Uint8Array {
  const parts = [...files].flatMap(([path, text]) => {
    const content = Buffer.from(text)
    return [headerOf(path, content.length), content, Buffer.alloc((BLOCK - (content.length % BLOCK)) % BLOCK)]
  })
  // Two empty blocks end it.
  return Buffer.concat([...parts, Buffer.alloc(2 * BLOCK)])
}

function headerOf(path: string, bytes: number): Buffer {
  const header = Buffer.alloc(BLOCK)
  const octal = (value: number, digits: number) => `${value.toString(8).padStart(digits, '0')}\0`
  header.write(path, 0, 100)
  header.write(octal(0o644, 7), 100)
  header.write(octal(0, 7), 108)
  header.write(octal(0, 7), 116)
  header.write(octal(bytes, 11), 124)
  header.write(octal(0, 11), 136)
  header.write('        ', 148)
  header.write('0', 156)
  header.write('ustar\0', 257)
  header.write('00', 263)
  const sum = header.reduce((total, byte) => total + byte, 0)
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148)
  return header
}
