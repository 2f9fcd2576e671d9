import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { test } from 'node:test';
import { floats, numbers, shorts, words } from '../src/arrays';
import { collapseFrom } from '../src/charts';
import { classColours, classShape, continuous, heat, missingColour, rgb } from '../src/colours';
import { Projection, around, eased, enclosed, inside, moved, nearest, zoomed } from '../src/geometry';
import { darkest } from '../src/heatmap';
import { extremes } from '../src/loadings';
import { ellipse, hull, outliers } from '../src/outlines';
import { arrows, byName, longest } from '../src/embedding/arrows';
import { Turn, reach } from '../src/embedding/turn';
import { crc } from '../src/raster';
import { flow, inWords, lines } from '../src/scree';
import { count, counted, csv, csvCell, fileStem, number, percent, probability, tick, ticks } from '../src/text';

const base64 = (bytes: number[]): string => Buffer.from(bytes).toString('base64');

test('arrays are little-endian', () => {
  assert.deepEqual([...shorts(base64([1, 0, 0, 1, 255, 255]))], [1, 256, 65535]);
  assert.deepEqual([...words(base64([1, 0, 0, 0, 0, 0, 1, 0]))], [1, 65536]);
  assert.deepEqual([...floats(base64([0, 0, 192, 63]))], [1.5]);
  assert.deepEqual([...numbers({ low: -1, high: 3, values: base64([0, 0, 255, 255]) })], [-1, 3]);
  const wide = numbers({ low: -Number.MAX_VALUE, high: Number.MAX_VALUE, values: base64([0, 0, 255, 255]) });
  assert.deepEqual([...wide], [-Number.MAX_VALUE, Number.MAX_VALUE]);
  assert.equal(shorts('').length, 0);
});

test('probabilities have two digits', () => {
  assert.deepEqual([1, 0.8, 0.0431, 0.001, 0.00012345].map(probability), ['1', '0.8', '0.043', '0.001', '1.2e-4']);
});

test('cells that look like formulas stay text', () => {
  assert.equal(csvCell('=cmd()'), "'=cmd()");
  assert.equal(csvCell('@SUM(A1)'), "'@SUM(A1)");
  assert.equal(csvCell('+1+2'), "'+1+2");
  assert.equal(csvCell('-2+3'), "'-2+3");
  assert.equal(csvCell('  =1'), "'  =1");
  assert.equal(csvCell('\t=1'), `"'\t=1"`);
  assert.equal(csvCell('\uff1d1'), "'\uff1d1");
  assert.equal(csvCell('=HYPERLINK("a","b")'), `"'=HYPERLINK(""a"",""b"")"`);
  for (const plain of ['-1.5', '+3', '1e-5', 'gene-1', 'a=b', '', '\u03b1']) assert.equal(csvCell(plain), plain);
  assert.equal(csvCell(-0.25), '-0.25');
  assert.equal(csvCell(Number.NaN), '');
  assert.equal(csvCell('a,b'), '"a,b"');
  assert.equal(csv(['x', '=y'], [['say "hi"', 2]]), `x,'=y\r\n"say ""hi""",2\r\n`);
});

test('numbers for people', () => {
  assert.deepEqual([0, 1, 12.3456, -1234.56, 98765.4, 0.012345, 1e-5, 2.5e7].map(number), ['0', '1.000', '12.35', '-1235', '98765', '0.01235', '1.00e-5', '2.50e7']);
  assert.deepEqual([0, 0.5, 0.0123, 0.00012, 1].map(percent), ['0%', '50.0%', '1.2%', '0.012%', '100.0%']);
  assert.deepEqual([800, 0.1, 1e-6, 2e7, 12.345678].map(tick), ['800', '0.1', '1e-6', '2e7', '12.35']);
  assert.deepEqual([count(12345), counted(1, 'sample'), counted(2, 'class', 'classes')], ['12,345', '1 sample', '2 classes']);
});

test('names of files are harmless', () => {
  assert.equal(fileStem('khan2001.csv.gz'), 'khan2001');
  assert.equal(fileStem('../../etc/passwd'), 'etc_passwd');
  assert.equal(fileStem('<script>'), 'script_');
  assert.equal(fileStem('///'), 'ewca');
});

test('a lasso holds what is inside', () => {
  const square: [number, number][] = [[0, 0], [4, 0], [4, 4], [0, 4]];
  assert.ok(inside(square, 2, 2) && !inside(square, 5, 2) && !inside(square, 2, -1));
  // A bow tie: its line crosses itself in the middle.
  const bow: [number, number][] = [[0, 0], [4, 4], [4, 0], [0, 4]];
  assert.ok(inside(bow, 0.5, 2) && inside(bow, 3.5, 2) && !inside(bow, 2, 3.5) && !inside(bow, 2, 0.5));
  assert.ok(!inside([], 0, 0));
});

test('points are found where they are drawn', () => {
  const points = { x: [0, 1, 2], y: [0, 4, 2] };
  const screen = new Projection({ x0: 0, x1: 2, y0: 0, y1: 4 }, { left: 10, top: 5, width: 200, height: 100 });
  assert.deepEqual(points.x.map((x, at) => [screen.across(x), screen.down(points.y[at]!)]), [[10, 105], [110, 5], [210, 55]]);
  assert.equal(nearest(points, screen, [112, 8], 14), 1);
  assert.equal(nearest(points, screen, [112, 20], 14), null, 'too far');
  assert.deepEqual(enclosed(points, screen, [[100, 0], [220, 0], [220, 60], [100, 60]]), [1, 2]);
});

test('windows hold all points and move as asked', () => {
  assert.deepEqual(around({ x: [0, 10], y: [-1, 1] }), { x0: -0.5, x1: 10.5, y0: -1.1, y1: 1.1 });
  const constant = around({ x: [3, 3], y: [0, 0] });
  assert.ok(constant.x0 < 3 && constant.x1 > 3 && constant.y0 < 0 && constant.y1 > 0);
  assert.deepEqual(around({ x: [], y: [] }), { x0: -1, x1: 1, y0: -1, y1: 1 });
  const unit = { x0: 0, x1: 2, y0: 0, y1: 4 };
  assert.deepEqual(zoomed(unit, 0.5, 0, 4), { x0: 0, x1: 1, y0: 2, y1: 4 });
  assert.deepEqual(moved(unit, 0.5, -0.25), { x0: 1, x1: 3, y0: -1, y1: 3 });
  assert.deepEqual([eased(0), eased(0.5), eased(1)], [0, 0.5, 1]);
});

test('the extremes of a component', () => {
  assert.deepEqual(extremes([0.5, -2, 3, 0, -1, 1], 2), { positive: [2, 5], negative: [1, 4] });
  assert.deepEqual(extremes([1, 2], 5), { positive: [1, 0], negative: [] });
});

test('the collapse lies between two fits', () => {
  assert.equal(collapseFrom([{ epsilon: 1, collapsed: false }, { epsilon: 4, collapsed: true }]), 2);
  assert.equal(collapseFrom([{ epsilon: 1, collapsed: false }]), null);
  assert.equal(collapseFrom([{ epsilon: 3, collapsed: true }]), 3);
});

test('the darkest share is not an outlier', () => {
  const values = Array.from({ length: 1000 }, (_, at) => (at === 0 ? 100 : 1));
  assert.equal(darkest(values), 1);
  assert.equal(darkest([0, 0, 5]), 5);
  assert.equal(darkest([0, 0]), 1);
});

/** Lightness and the two opponents of CIE L*a*b*, of a colour as people with full or without red or green cones see it. */
function seen(colour: string, matrix: number[][]): number[] {
  const linear = rgb(colour).map((value) => value / 255).map((value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4));
  const times = (rows: number[][], vector: number[]): number[] => rows.map((row) => row.reduce((sum, value, at) => sum + value * vector[at]!, 0));
  const xyz = times([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]], times(matrix, linear).map((value) => Math.min(1, Math.max(0, value))));
  const [x, y, z] = [xyz[0]! / 0.9505, xyz[1]!, xyz[2]! / 1.089].map((value) => (value > 0.008856 ? Math.cbrt(value) : 7.787 * value + 16 / 116));
  return [116 * y! - 16, 500 * (x! - y!), 200 * (y! - z!)];
}

// Machado, Oliveira and Fernandes 2009, at full severity.
const EYES = {
  all: [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
  protanopia: [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
  deuteranopia: [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
};

const classes = (count: number, colours: string[] | null = null): { names: string[]; colours: string[] | null } =>
  ({ names: Array.from({ length: count }, (_, at) => String(at)), colours });

test('the colours of classes are told apart by every eye', () => {
  for (const dark of [false, true]) {
    for (const count of [8, 12]) {
      const colours = [...classColours(classes(count), dark), missingColour(dark)];
      for (const [eye, matrix] of Object.entries(EYES)) {
        const places = colours.map((colour) => seen(colour, matrix));
        places.forEach((a, i) => places.slice(0, i).forEach((b, j) => {
          const distance = Math.hypot(...a.map((value, at) => value - b[at]!));
          // Okabe and Ito's grey and pink are the nearest two; their shapes differ.
          const least = count === 12 ? (eye === 'all' ? 30 : 14) : eye === 'all' ? 19 : 7.5;
          assert.ok(distance > least, `${colours[i]} and ${colours[j]} by ${eye}, dark: ${dark}: ${distance}`);
        }));
      }
    }
  }
});

test('the colours of classes can be seen on the page', () => {
  // The relative luminance and the contrast of WCAG.
  const luminance = (colour: string): number => {
    const [r, g, b] = rgb(colour).map((value) => (value / 255 <= 0.04045 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4)) as [number, number, number];
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  for (const [dark, page, least] of [[false, '#ffffff', 1.5], [true, '#181b21', 3]] as const) {
    for (const count of [1, 8, 12, 36]) {
      for (const colour of classColours(classes(count), dark)) {
        const [low, high] = [luminance(colour), luminance(page)].sort((a, b) => a - b) as [number, number];
        assert.ok((high + 0.05) / (low + 0.05) > least, `${colour} of ${count} on ${page}`);
      }
    }
  }
});

test('many classes differ in colour or shape, on light and dark', () => {
  for (const dark of [false, true]) {
    for (const count of [8, 40, 96]) {
      const looks = classColours(classes(count), dark).map((colour, at) => `${colour} ${classShape(at, count)}`);
      assert.equal(new Set(looks).size, count);
    }
    // Where points are too many for shapes, colours alone.
    assert.equal(new Set(classColours(classes(48), dark)).size, 48);
    assert.deepEqual(classColours(classes(2, ['#123456', '#abcdef']), dark), ['#123456', '#abcdef'], "the data's own");
  }
});

test('ramps become monotonically lighter or darker', () => {
  const lightness = ([r, g, b]: number[]): number => 0.2126 * r! + 0.7152 * g! + 0.0722 * b!;
  const steps = Array.from({ length: 21 }, (_, at) => at / 20);
  for (const dark of [false, true]) {
    const shares = steps.map((part) => lightness(heat(part, dark)));
    assert.ok(shares.every((value, at) => at === 0 || (dark ? value > shares[at - 1]! : value < shares[at - 1]!)));
    const values = steps.map((part) => lightness(continuous(part, dark)));
    assert.ok(values.every((value, at) => at === 0 || value > values[at - 1]!));
  }
  assert.deepEqual(heat(Number.NaN, false), [255, 255, 255]);
});

test('hulls, ellipses and outliers', () => {
  assert.deepEqual(hull([[0, 0], [2, 0], [1, 1], [2, 2], [0, 2], [1, 0]]), [[0, 0], [2, 0], [2, 2], [0, 2]]);
  assert.equal(hull([[0, 0], [1, 1]]), null);
  assert.equal(hull([[0, 0], [1, 1], [2, 2]]), null, 'on a line');
  assert.equal(ellipse([[0, 0], [1, 1], [2, 2]]), null);
  // Variances 4 and 1, no covariance: half axes are their roots times that of 5.991.
  const cross: [number, number][] = [[2, 0], [-2, 0], [0, 1], [0, -1]];
  const corners = ellipse(cross)!;
  const [wide, high] = [Math.max(...corners.map(([x]) => x)), Math.max(...corners.map(([, y]) => y))];
  assert.ok(Math.abs(wide - Math.sqrt((8 / 3) * 5.991)) < 1e-9 && Math.abs(high - Math.sqrt((2 / 3) * 5.991)) < 1e-9);
  const cloud = Array.from({ length: 100 }, (_, at): [number, number] => [Math.sin(at), Math.cos(1.7 * at)]);
  assert.deepEqual(outliers(cloud), []);
  assert.deepEqual(outliers([...cloud, [9, 9], [-20, 3]]), [101, 100]);
  assert.deepEqual(outliers([[1, 1], [1, 1]]), []);
});

test('arrows keep their directions and stay in the window', () => {
  assert.deepEqual(longest([0.1, -0.9, 0.3], [0.1, 0, 0.4], 2), [1, 2]);
  assert.deepEqual(byName(['TP53', 'tp53', 'MYC'], 'tp53, myc,, zz'), { found: [1, 2], absent: ['zz'] });
  const drawn = arrows(['a', 'b'], [0.6, -0.2], [0.8, 0.1], [0, 1], { x0: -10, x1: 12, y0: -4, y1: 5 });
  assert.deepEqual(drawn.map(({ text }) => text), ['a', 'b']);
  const [[ax, ay], [bx, by]] = drawn.map(({ to }) => to) as [[number, number], [number, number]];
  assert.ok(Math.abs(ax / ay - 0.75) < 1e-12 && Math.abs(bx / by + 2) < 1e-12 && Math.abs(ay / by - 8) < 1e-12);
  assert.ok(Math.abs(ay - 0.85 * 4) < 1e-12, 'the longest has most of the room');
});

test('ticks are round numbers inside', () => {
  assert.deepEqual(ticks(-0.3, 1.05, 5).map((value) => Number(value.toFixed(6))), [0, 0.5, 1]);
  assert.deepEqual(ticks(0, 100, 5), [0, 20, 40, 60, 80, 100]);
  assert.deepEqual([ticks(1, 1, 5), ticks(Number.NaN, 1, 5)], [[], []]);
});

test('the checksum of PNG', () => {
  // The chunk IEND, which every PNG ends with.
  assert.equal(crc(new TextEncoder().encode('IEND')), 0xae426082);
});

test('a turned cloud is a rotation of itself', () => {
  const turn = new Turn();
  turn.drag(37, -21);
  const images = [turn.place(1, 0, 0), turn.place(0, 1, 0), turn.place(0, 0, 1)];
  // The two rows of what maps space to the screen are orthonormal.
  const dot = (a: 0 | 1, b: 0 | 1): number => images.reduce((sum, image) => sum + image[a] * image[b], 0);
  assert.ok(Math.abs(dot(0, 0) - 1) < 1e-12 && Math.abs(dot(1, 1) - 1) < 1e-12 && Math.abs(dot(0, 1)) < 1e-12);
  Object.assign(turn, { yaw: 0, pitch: 0 });
  assert.deepEqual(turn.shadow([3], [4], [5]), { x: Float64Array.of(3), y: Float64Array.of(4) });
  assert.equal(reach([3, 0], [4, 0], [0, 1]), 5);
});

test('a scree has the lines that there is something of', () => {
  const components = [{ name: 'ewca1', variance: 3, ratio: 0.5, pca_ratio: 0.6, eigenvalue: 0.4 }, { name: 'ewca2', variance: 1, ratio: 0.25, pca_ratio: 0.2, eigenvalue: -0.1 }];
  assert.deepEqual(lines(components, null).map((line) => [line.name, line.parts]), [
    ['EWCA', [0.5, 0.25]], ['EWCA, cumulative', [0.5, 0.75]], ['PCA', [0.6, 0.2]], ['eigenvalues of M', [0.4, -0.1]],
  ]);
  const chance = { above: 1, variances: [0.6, 0.2, 0.1], permuted: [0.3, 0.25, 0.2], quantile: 0.95, permutations: 20 };
  const drawn = lines(components.map((component) => ({ ...component, eigenvalue: null })), chance);
  assert.deepEqual(drawn.map((line) => [line.name, line.parts]), [['EWCA', [0.5, 0.25]], ['PCA', [0.6, 0.2, 0.1]], ['PCA by chance', [0.3, 0.25, 0.2]]]);
  const how = 'more variance than chance (the 95% quantile of 20 tables with shuffled features).';
  assert.equal(inWords(chance), `Parallel analysis: 1 of the principal components explains ${how}`);
  assert.equal(inWords({ ...chance, above: 0 }), `Parallel analysis: None of the principal components explain ${how}`);
  assert.equal(inWords({ ...chance, above: 3 }), `Parallel analysis: All of the principal components explain ${how}`);
  // What does not fit goes to the next row.
  assert.deepEqual(flow(['abc', 'abc', 'abc'], 1000).map((place) => place[1]), [0, 0, 0]);
  assert.deepEqual(flow(['abc', 'abc', 'abc'], 120).map((place) => place[1]), [0, 0, 1]);
  assert.deepEqual(flow(['a name that is far too long'], 10), [[0, 0]]);
});

test('every control of the page is used by a test in a browser', () => {
  const page = readFileSync('src/page.html', 'utf8');
  const controls = [...page.matchAll(/<(?:button|select|input|fieldset)\b[^>]*?\bid="([^"]+)"/g)].map((match) => match[1]!);
  assert.ok(controls.length > 40, String(controls.length));
  const tests = readdirSync('tests').filter((name) => name.endsWith('.browser.test.ts')).map((name) => readFileSync(`tests/${name}`, 'utf8')).join();
  assert.deepEqual(controls.filter((id) => !new RegExp(`#${id}(?![\\w-])`).test(tests)), []);
});
