// What is known of the samples besides their features: columns of classes and of numbers, decoded.

import { numbers, shorts, words } from './arrays';
import type { Column, ShownAnnotation } from './report';

export interface ClassColumn {
  kind: 'classes';
  name: string;
  names: string[];
  /** The class of each sample; no class has the number of one that is missing. */
  codes: Uint16Array;
  /** The data's own colours. */
  colours: string[] | null;
}

export interface NumberColumn {
  kind: 'numbers';
  name: string;
  column: Column;
  missing: Set<number>;
}

export type Annotation = ClassColumn | NumberColumn;

export function decoded({ name, values }: ShownAnnotation): Annotation {
  if (values.kind === 'classes') return { kind: 'classes', name, names: values.names, codes: shorts(values.codes), colours: values.colours };
  return { kind: 'numbers', name, column: values.column, missing: new Set(words(values.missing)) };
}

export const isClasses = (annotation: Annotation): annotation is ClassColumn => annotation.kind === 'classes';

/** How many of some samples each class has, and how many have none. */
export function classCounts({ names, codes }: ClassColumn, among: Iterable<number>): { counts: number[]; missing: number } {
  const counts = names.map(() => 0);
  let missing = 0;
  for (const sample of among) {
    const code = codes[sample]!;
    if (code < counts.length) counts[code]!++;
    else missing++;
  }
  return { counts, missing };
}

/** The value of a sample, where it is known. */
export function valueOf(annotation: Annotation, sample: number): string | number | null {
  if (isClasses(annotation)) return annotation.names[annotation.codes[sample]!] ?? null;
  return annotation.missing.has(sample) ? null : numbers(annotation.column)[sample]!;
}
