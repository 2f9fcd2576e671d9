// What the program puts into the page: the same as src/report.rs of the crate, field by field.

export interface Column { low: number; high: number; values: string }
export interface Fact { name: string; value: string; meaning: string }
export interface Component { name: string; variance: number; ratio: number; pca_ratio: number }
export interface View { key: string; name: string; axes: string[]; columns: Column[] }
export interface Square { class: number; from: number; to: number }
export interface HeatMap {
  key: 'label' | 'similarity';
  blocks: number;
  names: string[];
  single: boolean;
  values: Column;
  squares: Square[];
}
export interface Step {
  epsilon: number;
  perplexity: number;
  loss: number;
  explained: number;
  error: number | null;
  collapsed: boolean;
  converged: boolean;
  columns: Column[];
}
export interface Path { steps: Step[]; current: number }
export interface Confusion { counts: number[][]; error: number }
export interface Silhouette { name: string; samples: number; ewca: number | null; pca: number | null }
export interface Classes { asked: number; ewca: Confusion; pca: Confusion; silhouettes: Silhouette[] }
export interface Convergence {
  passes: number[];
  loss: (number | null)[];
  gradient: (number | null)[];
  marginal: (number | null)[];
  sought: boolean;
}
export interface Report {
  version: string;
  data: { name: string; samples: number; features: number; label: string | null; preprocessing: string[] };
  verdict: string;
  sound: boolean;
  warnings: string[];
  notes: string[];
  facts: Fact[];
  components: Component[];
  epsilon: number;
  shown: number;
  ids: string[] | null;
  labels: { names: string[]; classes: string } | null;
  views: View[];
  perplexities: Column;
  features: { name: string; column: Column }[];
  partners: { count: number; samples: string; shares: string; own: string };
  heat_maps: HeatMap[];
  loadings: { features: string[]; columns: string[] };
  convergence: Convergence;
  path: Path | null;
  classes: Classes | null;
}

function bytes(text: string): Uint8Array {
  const raw = atob(text);
  const out = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) out[i] = raw.charCodeAt(i);
  return out;
}

// Read with an explicit byte order: typed arrays have the machine's.
function decoded<T extends { [i: number]: number }>(text: string, size: number, make: (length: number) => T, get: (view: DataView, at: number) => number): T {
  const raw = bytes(text);
  const view = new DataView(raw.buffer);
  const length = raw.length / size;
  const out = make(length);
  for (let i = 0; i < length; i++) out[i] = get(view, i * size);
  return out;
}

export const shorts = (text: string): Uint16Array =>
  decoded(text, 2, (length) => new Uint16Array(length), (view, at) => view.getUint16(at, true));
export const words = (text: string): Uint32Array =>
  decoded(text, 4, (length) => new Uint32Array(length), (view, at) => view.getUint32(at, true));
export const floats = (text: string): Float32Array =>
  decoded(text, 4, (length) => new Float32Array(length), (view, at) => view.getFloat32(at, true));

/** The numbers of a column. */
export function numbers(column: Column): Float64Array {
  const steps = shorts(column.values);
  const out = new Float64Array(steps.length);
  // By parts, since the difference of the largest numbers overflows.
  for (let i = 0; i < steps.length; i++) {
    const part = steps[i]! / 65535;
    out[i] = column.low * (1 - part) + column.high * part;
  }
  return out;
}

/** The samples that are shown, decoded where it is cheap and needed everywhere. */
export class Samples {
  readonly count: number;
  readonly classNames: string[];
  readonly classes: Uint16Array | null;
  readonly perplexities: Float64Array;
  readonly partnerCount: number;
  private readonly ids: string[] | null;
  private readonly partnerSamples: Uint32Array;
  private readonly partnerShares: Uint16Array;
  private readonly own: Uint16Array;

  constructor(report: Report) {
    this.count = report.shown;
    this.ids = report.ids;
    this.classNames = report.labels?.names ?? [];
    this.classes = report.labels ? shorts(report.labels.classes) : null;
    this.perplexities = numbers(report.perplexities);
    this.partnerCount = report.partners.count;
    this.partnerSamples = words(report.partners.samples);
    this.partnerShares = shorts(report.partners.shares);
    this.own = shorts(report.partners.own);
  }

  id(sample: number): string {
    return this.ids ? this.ids[sample]! : String(sample + 1);
  }

  label(sample: number): string | null {
    return this.classes ? this.classNames[this.classes[sample]!]! : null;
  }

  ownShare(sample: number): number {
    return this.own[sample]! / 65535;
  }

  /** The strongest partners with their shares, strongest first. */
  partners(sample: number): { sample: number; share: number }[] {
    const start = sample * this.partnerCount;
    return Array.from({ length: this.partnerCount }, (_, at) => ({
      sample: this.partnerSamples[start + at]!,
      share: this.partnerShares[start + at]! / 65535,
    }));
  }

  /** The first sample with this name, or else one whose name begins so. */
  find(text: string): number | null {
    const wanted = text.trim().toLowerCase();
    if (!wanted) return null;
    let begins: number | null = null;
    for (let sample = 0; sample < this.count; sample++) {
      const id = this.id(sample).toLowerCase();
      if (id === wanted) return sample;
      if (begins === null && id.startsWith(wanted)) begins = sample;
    }
    return begins;
  }
}
