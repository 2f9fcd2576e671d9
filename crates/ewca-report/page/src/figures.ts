// Figures to keep: PNG of what is on a canvas, SVG of what is drawn as such.

import { FONT, save, saveText, styleColour } from './dom';

/** Saves a canvas with a title above it. */
export function savePng(name: string, title: string, canvas: HTMLCanvasElement): void {
  const scale = devicePixelRatio || 1;
  const out = document.createElement('canvas');
  const context = out.getContext('2d')!;
  const above = 34 * scale;
  out.width = Math.ceil(canvas.width + 16 * scale);
  out.height = Math.ceil(canvas.height + above + 8 * scale);
  context.fillStyle = styleColour('card');
  context.fillRect(0, 0, out.width, out.height);
  context.drawImage(canvas, 8 * scale, above);
  context.fillStyle = styleColour('ink');
  context.font = `600 ${FONT.replace('12px', `${14 * scale}px`)}`;
  context.fillText(title, 12 * scale, 22 * scale, out.width - 24 * scale);
  out.toBlob((blob) => blob && save(`${name}.png`, blob), 'image/png');
}

const STYLED = ['fill', 'stroke', 'stroke-width', 'stroke-dasharray', 'font-family', 'font-size', 'font-weight', 'text-anchor', 'opacity'];

/** The text of an SVG file: the drawing with the style that it has on a light page, since paper is white. */
function svgText(drawing: SVGElement): string {
  const { dataset } = document.documentElement;
  const theme = dataset['theme'];
  dataset['theme'] = 'light';
  const copy = styledCopy(drawing);
  if (theme === undefined) delete dataset['theme'];
  else dataset['theme'] = theme;
  const box = drawing.getAttribute('viewBox')?.split(' ') ?? ['0', '0', '600', '400'];
  return fileText(copy, box[2]!, box[3]!);
}

function styledCopy(drawing: SVGElement): SVGElement {
  const copy = drawing.cloneNode(true) as SVGElement;
  const originals = [drawing, ...drawing.querySelectorAll<SVGElement>('*')];
  const copies = [copy, ...copy.querySelectorAll<SVGElement>('*')];
  originals.forEach((original, at) => {
    const style = getComputedStyle(original);
    for (const name of STYLED) copies[at]!.setAttribute(name, style.getPropertyValue(name));
    copies[at]!.removeAttribute('class');
  });
  return copy;
}

/** The text of an SVG file of this size. */
export function fileText(drawing: SVGElement, width: string, height: string): string {
  drawing.setAttribute('width', width);
  drawing.setAttribute('height', height);
  // XML has no place for most control characters, which names from files of strangers may hold.
  const text = new XMLSerializer().serializeToString(drawing).replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, '\ufffd');
  return `<?xml version="1.0" encoding="UTF-8"?>\n${text}\n`;
}

export function saveSvg(name: string, drawing: SVGElement): void {
  saveText(`${name}.svg`, 'image/svg+xml', svgText(drawing));
}
