// From an SVG to a PNG of a chosen resolution, which the file tells: without that, programs print it at a size of their own.

/** The checksum of PNG's chunks. */
export function crc(bytes: Uint8Array): number {
  let sum = ~0;
  for (const byte of bytes) {
    sum ^= byte;
    for (let bit = 0; bit < 8; bit++) sum = (sum >>> 1) ^ (sum & 1 ? 0xedb88320 : 0);
  }
  return ~sum >>> 0;
}

/** A PNG file that says how many dots an inch has: a chunk pHYs after its header, which has 33 bytes. */
export function withResolution(png: Uint8Array, dotsPerInch: number): Uint8Array {
  const chunk = new Uint8Array(21);
  const view = new DataView(chunk.buffer);
  const perMetre = Math.round(dotsPerInch / 0.0254);
  view.setUint32(0, 9);
  chunk.set([...'pHYs'].map((letter) => letter.charCodeAt(0)), 4);
  view.setUint32(8, perMetre);
  view.setUint32(12, perMetre);
  chunk[16] = 1;
  view.setUint32(17, crc(chunk.subarray(4, 17)));
  const out = new Uint8Array(png.length + chunk.length);
  out.set(png.subarray(0, 33));
  out.set(chunk, 33);
  out.set(png.subarray(33), 54);
  return out;
}

/** A drawing, given as the text of an SVG file, as a PNG with so many pixels. */
export async function raster(svgText: string, width: number, height: number, dotsPerInch: number): Promise<Blob> {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svgText)}`;
  await image.decode();
  const canvas = document.createElement('canvas');
  [canvas.width, canvas.height] = [width, height];
  canvas.getContext('2d')!.drawImage(image, 0, 0, width, height);
  const blob = await new Promise<Blob | null>((resolve) => canvas.toBlob(resolve, 'image/png'));
  if (!blob) throw new Error('the figure is too large for this browser');
  return new Blob([withResolution(new Uint8Array(await blob.arrayBuffer()), dotsPerInch) as BlobPart], { type: 'image/png' });
}
