// Figures to keep: PNG of what is on a canvas, SVG of what is drawn as such.

import { FONT, save, saveText, styleColour } from './dom';

export interface LegendEntry { colour: string; text: string }

/** Saves a canvas with a title above it and a legend beside it. */
export function savePng(name: string, title: string, canvas: HTMLCanvasElement, legend: LegendEntry[] = []): void {
  const scale = devicePixelRatio || 1;
  const font = FONT.replace('12px', `${12 * scale}px`);
  const out = document.createElement('canvas');
  const context = out.getContext('2d')!;
  context.font = font;
  const widest = Math.max(0, ...legend.map((entry) => context.measureText(entry.text).width));
  const aside = legend.length ? widest + 40 * scale : 0;
  const above = 34 * scale;
  out.width = Math.ceil(canvas.width + aside + 16 * scale);
  out.height = Math.ceil(Math.max(canvas.height, legend.length * 18 * scale) + above + 8 * scale);
  context.fillStyle = styleColour('card');
  context.fillRect(0, 0, out.width, out.height);
  context.drawImage(canvas, 8 * scale, above);
  context.fillStyle = styleColour('ink');
  context.font = `600 ${FONT.replace('12px', `${14 * scale}px`)}`;
  context.fillText(title, 12 * scale, 22 * scale, out.width - 24 * scale);
  context.font = font;
  legend.forEach((entry, at) => {
    const y = above + (at + 0.5) * 18 * scale;
    context.fillStyle = entry.colour;
    context.fillRect(canvas.width + 16 * scale, y, 10 * scale, 10 * scale);
    context.fillStyle = styleColour('ink');
    context.fillText(entry.text, canvas.width + 32 * scale, y + 9 * scale);
  });
  out.toBlob((blob) => blob && save(`${name}.png`, blob), 'image/png');
}

const STYLED = ['fill', 'stroke', 'stroke-width', 'font-family', 'font-size', 'font-weight', 'text-anchor', 'opacity'];

/** The text of an SVG file: the drawing with the style that it has on the page. */
function svgText(drawing: SVGElement): string {
  const copy = drawing.cloneNode(true) as SVGElement;
  const originals = [drawing, ...drawing.querySelectorAll<SVGElement>('*')];
  const copies = [copy, ...copy.querySelectorAll<SVGElement>('*')];
  originals.forEach((original, at) => {
    const style = getComputedStyle(original);
    for (const name of STYLED) copies[at]!.setAttribute(name, style.getPropertyValue(name));
    copies[at]!.removeAttribute('class');
  });
  const box = drawing.getAttribute('viewBox')?.split(' ') ?? ['0', '0', '600', '400'];
  copy.setAttribute('xmlns', 'http://www.w3.org/2000/svg');
  copy.setAttribute('width', box[2]!);
  copy.setAttribute('height', box[3]!);
  return `<?xml version="1.0" encoding="UTF-8"?>\n${new XMLSerializer().serializeToString(copy)}\n`;
}

export function saveSvg(name: string, drawing: SVGElement): void {
  saveText(`${name}.svg`, 'image/svg+xml', svgText(drawing));
}
