// Many points as dots: straight into the pixels of a layer of their own, which then goes over the grid.

import { Projection } from '../geometry';
import type { Surface } from './paint';
import { type Picture, isDimmed, radius } from './picture';

const layer = document.createElement('canvas');

export function paintDots(picture: Picture, { ctx, box, window, scale }: Surface): void {
  const image = emptyImage(Math.max(1, Math.round(box.width)), Math.max(1, Math.round(box.height)));
  const { width, height } = image;
  const screen = new Projection(window, { left: 0, top: 0, width, height });
  const pixels = new Uint32Array(image.data.buffer);
  const { points: { x, y }, style: { colours } } = picture;
  const { reach, offsets } = disc(scale * radius(x.length), width);
  const plain = picture.style.dimmed === null && picture.selection === null;
  for (const dimmed of plain ? [false] : [true, false]) {
    const alpha = (dimmed ? 40 : 255) << 24;
    for (let i = 0; i < x.length; i++) {
      if (!plain && isDimmed(picture, i) !== dimmed) continue;
      const column = Math.round(screen.across(x[i]!));
      const row = Math.round(screen.down(y[i]!));
      if (column < reach || row < reach || column >= width - reach || row >= height - reach) continue;
      // The order of bytes in a pixel is that of every machine in use.
      const pixel = alpha | (colours[3 * i + 2]! << 16) | (colours[3 * i + 1]! << 8) | colours[3 * i]!;
      const centre = row * width + column;
      for (const offset of offsets) pixels[centre + offset] = pixel;
    }
  }
  layer.getContext('2d')!.putImageData(image, 0, 0);
  ctx.drawImage(layer, Math.round(box.left), Math.round(box.top));
}

function emptyImage(width: number, height: number): ImageData {
  if (layer.width !== width || layer.height !== height) [layer.width, layer.height] = [width, height];
  return layer.getContext('2d')!.createImageData(width, height);
}

/** The pixels of a disc about its centre, in an image of some width, and how far they reach. */
function disc(size: number, width: number): { reach: number; offsets: number[] } {
  const reach = Math.floor(size);
  const offsets: number[] = [];
  for (let dy = -reach; dy <= reach; dy++) {
    for (let dx = -reach; dx <= reach; dx++) if (dx * dx + dy * dy <= size * size) offsets.push(dy * width + dx);
  }
  return { reach, offsets };
}
