// The buttons that save the embedding, at the size and the resolution that the reader chose.

import { classCounts } from '../annotations';
import { announce, byId, save, saveText } from '../dom';
import { fileText } from '../figures';
import { raster } from '../raster';
import type { Scatter } from '../scatter/scatter';
import type { Colouring } from './colouring';
import { figure } from './figure';
import type { Overlays } from './overlays';
import type { Shown } from './shown';

const INCH = 25.4;
/** The unit of SVG: 96 in an inch. */
const UNIT = 96 / INCH;

/** The number in a field, between its least and its most. */
function field(id: string): number {
  const input = byId<HTMLInputElement>(id);
  const [low, high] = [Number(input.min), Number(input.max)];
  const value = Math.min(high, Math.max(low, Number(input.value) || Number(input.defaultValue)));
  input.value = String(value);
  return value;
}

export class Export {
  constructor(
    private readonly stem: string,
    private readonly name: string,
    private readonly scatter: Scatter,
    private readonly shown: Shown,
    private readonly colouring: Colouring,
    private readonly overlays: Overlays,
  ) {
    byId('embedding-svg').addEventListener('click', () => saveText(`${stem}-embedding.svg`, 'image/svg+xml', this.svg()));
    byId('embedding-png').addEventListener('click', () => void this.savePng());
  }

  private svg(): string {
    const [width, height] = [field('figure-width'), field('figure-height')];
    const { classes, scale, shaped } = this.colouring;
    const picture = this.scatter.shown;
    const drawing = figure({
      title: `${this.name}: ${this.shown.title}`,
      picture: { ...picture, style: this.colouring.style(false), points: this.scatter.goal },
      window: this.scatter.view(),
      axes: this.shown.axisTitles,
      overlay: this.overlays.overlay(false),
      scale,
      classes,
      shaped,
      missing: classes ? classCounts(classes, Array(classes.codes.length).keys()).missing : 0,
    }, Math.round(width * UNIT), Math.round(height * UNIT));
    return fileText(drawing, `${width}mm`, `${height}mm`);
  }

  private async savePng(): Promise<void> {
    const [width, height, dots] = [field('figure-width'), field('figure-height'), field('figure-dpi')];
    const pixels = (length: number): number => Math.round((length / INCH) * dots);
    try {
      save(`${this.stem}-embedding.png`, await raster(this.svg(), pixels(width), pixels(height), dots));
    } catch {
      announce('The figure is too large for this browser: choose fewer dots per inch.');
      byId('settings-note').textContent = 'The figure is too large for this browser: choose fewer dots per inch.';
    }
  }
}
