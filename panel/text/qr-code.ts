/** Codewords of error correction in each block, by version from 1 on (ISO/IEC 18004, level M); later versions have 28. */
const CORRECTION = [10, 16, 26, 18, 24, 16, 18, 22, 22, 26, 30, 22, 22, 24, 24, 28, 28, 26, 26, 26, 26];
/** Blocks into which the codewords of a version are parted. */
const BLOCKS = [
  ...[1, 1, 1, 2, 2, 4, 4, 4, 5, 5, 5, 8, 9, 9, 10, 10, 11, 13, 14, 16],
  ...[17, 17, 18, 20, 21, 23, 25, 26, 28, 29, 31, 33, 35, 37, 38, 40, 43, 45, 47, 49],
];

/** One of the 40 sizes of a QR code at level M. */
interface Version {
  readonly number: number;
  /** Codewords that fit into it, those of error correction included. */
  readonly codewords: number;
  readonly blocks: number;
  readonly correction: number;
}

const VERSIONS = BLOCKS.map((blocks, index): Version => {
  const number = index + 1;
  const alignments = number === 1 ? 0 : Math.floor(number / 7) + 2;
  const aligned = number === 1 ? 0 : (25 * alignments - 10) * alignments - 55;
  const modules = (16 * number + 128) * number + 64 - aligned - (number < 7 ? 0 : 36);
  return { number, codewords: Math.floor(modules / 8), blocks, correction: CORRECTION[index] ?? 28 };
});

/** The masks, of which the one is taken that a reader can make out best. */
const MASKS: readonly ((x: number, y: number) => number)[] = [
  (x, y) => (x + y) % 2,
  (_, y) => y % 2,
  (x) => x % 3,
  (x, y) => (x + y) % 3,
  (x, y) => (Math.floor(x / 3) + Math.floor(y / 2)) % 2,
  (x, y) => ((x * y) % 2) + ((x * y) % 3),
  (x, y) => (((x * y) % 2) + ((x * y) % 3)) % 2,
  (x, y) => (((x + y) % 2) + ((x * y) % 3)) % 2,
];

/** The modules of a QR code: rows of `1` for dark and `0` for light. */
type Rows = readonly string[];

/** The QR code (ISO/IEC 18004) of a text in UTF-8 at level M, without a border; null where the text is too long for one. */
export function qrCode(text: string): Rows | null {
  const bytes = new TextEncoder().encode(text);
  /** Digits of the count of bytes, in hexadecimal. */
  const digits = ({ number }: Version) => (number < 10 ? 2 : 4);
  const version = VERSIONS.find(
    (each) => bytes.length + 1 + digits(each) / 2 <= each.codewords - each.blocks * each.correction,
  );
  if (version === undefined) return null;
  const hex = (value: number, length: number) => value.toString(16).padStart(length, '0');
  const whole = `4${hex(bytes.length, digits(version))}${Array.from(bytes, (byte) => hex(byte, 2)).join('')}0`;
  const data = (whole.match(/../g) ?? []).map((pair) => Number.parseInt(pair, 16));
  const padding = version.codewords - version.blocks * version.correction - data.length;
  for (let index = 0; index < padding; index += 1) data.push(index % 2 === 0 ? 0xec : 0x11);
  const drawing = new Drawing(version, corrected(data, version));
  const codes = MASKS.map((_, mask) => drawing.masked(mask));
  return codes.reduce((best, code) => (penaltyOf(code) < penaltyOf(best) ? code : best));
}

/** The codewords in blocks, each with its error correction, one of each block in turn. */
function corrected(data: readonly number[], { codewords, blocks, correction }: Version): readonly number[] {
  const shortest = Math.floor(codewords / blocks) - correction;
  const short = blocks - (codewords % blocks);
  const start = (block: number) => block * shortest + Math.max(0, block - short);
  const parts = Array.from({ length: blocks }, (_, block) => data.slice(start(block), start(block + 1)));
  const divisor = divisorOf(correction);
  return [...inTurn(parts), ...inTurn(parts.map((part) => remainderOf(part, divisor)))];
}

function inTurn(lists: readonly (readonly number[])[]): readonly number[] {
  const longest = lists.at(-1) ?? [];
  return longest.flatMap((_, place) => lists.flatMap((list) => list[place] ?? []));
}

/** The product in the field of 256 elements by which the codes are corrected. */
function product(a: number, b: number): number {
  let result = 0;
  for (let bit = 7; bit >= 0; bit -= 1) result = (result << 1) ^ ((result >>> 7) * 0x11d) ^ (((b >>> bit) & 1) * a);
  return result;
}

/** The polynomial that codes with so many codewords of correction are divided by, without its first factor, which is 1. */
function divisorOf(correction: number): readonly number[] {
  let factors: readonly number[] = [1];
  let root = 1;
  for (let degree = 0; degree < correction; degree += 1) {
    const [by, last] = [root, factors];
    factors = [...last, 0].map((factor, place) => factor ^ product(last[place - 1] ?? 0, by));
    root = product(root, 2);
  }
  return factors.slice(1);
}

function remainderOf(part: readonly number[], divisor: readonly number[]): readonly number[] {
  return part.reduce<readonly number[]>(
    (rest, codeword) => {
      const factor = codeword ^ (rest[0] ?? 0);
      return divisor.map((each, place) => product(each, factor) ^ (rest[place + 1] ?? 0));
    },
    divisor.map(() => 0),
  );
}

/** The distances from the middle of a position mark, and of an alignment mark, at which it stays light. */
const FINDER = { radius: 4, light: [2, 4] };
const ALIGNMENT = { radius: 2, light: [1] };

/** A QR code while it is drawn. */
class Drawing {
  readonly #size: number;
  /** By row; undefined where data stand. */
  readonly #fixed: (boolean | undefined)[][];
  readonly #data: readonly number[];

  constructor({ number }: Version, data: readonly number[]) {
    this.#size = 17 + 4 * number;
    this.#data = data;
    this.#fixed = Array.from({ length: this.#size }, () => Array(this.#size).fill(undefined));
    for (let place = 0; place < this.#size; place += 1) this.#setBoth(6, place, place % 2 === 0);
    const far = this.#size - 4;
    for (const [x, y] of [
      [3, 3],
      [3, far],
      [far, 3],
    ] as const)
      this.#mark(x, y, FINDER);
    const places = alignmentsOf(number);
    for (const x of places) {
      // The three corners with a position mark have none.
      for (const y of places)
        if (Math.min(x, y) > 6 || (x !== y && Math.max(x, y) < far - 3)) this.#mark(x, y, ALIGNMENT);
    }
    if (number < 7) return;
    const bits = withCheck(number, 12, 0x1f25);
    for (let bit = 0; bit < 18; bit += 1)
      this.#setBoth(Math.floor(bit / 3), this.#size - 11 + (bit % 3), isSet(bits, bit));
  }

  /** The rows with this mask over the data. */
  masked(mask: number): Rows {
    // Two bits for the level M, which are 0.
    this.#setFormat(withCheck(mask, 10, 0x537) ^ 0x5412);
    const isDark = MASKS[mask] ?? (() => 1);
    const rows = this.#fixed.map((row) => [...row]);
    let bit = 0;
    // Data go up and down in columns of two, of which none lies over the timing marks.
    for (let right = this.#size - 1; right > 0; right -= right === 8 ? 3 : 2) {
      const isUpward = ((right + 1) & 2) === 0;
      for (let line = 0; line < this.#size; line += 1) {
        const y = isUpward ? this.#size - 1 - line : line;
        for (const x of [right, right - 1]) {
          if (rows[y]?.[x] !== undefined) continue;
          const isOn = isSet(this.#data[bit >>> 3] ?? 0, 7 - (bit & 7));
          bit += 1;
          rows[y]?.splice(x, 1, isOn !== (isDark(x, y) === 0));
        }
      }
    }
    return rows.map((row) => row.map(Number).join(''));
  }

  #set(x: number, y: number, isDark: boolean): void {
    const row = this.#fixed[y];
    if (row !== undefined && x in row) row[x] = isDark;
  }

  #setBoth(x: number, y: number, isDark: boolean): void {
    this.#set(x, y, isDark);
    this.#set(y, x, isDark);
  }

  #mark(x: number, y: number, { radius, light }: typeof FINDER): void {
    for (let down = -radius; down <= radius; down += 1) {
      for (let right = -radius; right <= radius; right += 1) {
        this.#set(x + right, y + down, !light.includes(Math.max(Math.abs(down), Math.abs(right))));
      }
    }
  }

  /** Draws which mask is taken, twice, and the one module that is always dark. */
  #setFormat(bits: number): void {
    for (let bit = 0; bit < 15; bit += 1) {
      const isDark = isSet(bits, bit);
      if (bit < 8) {
        this.#set(8, bit < 6 ? bit : bit + 1, isDark);
        this.#set(this.#size - 1 - bit, 8, isDark);
      } else {
        this.#set(bit === 8 ? 7 : 14 - bit, 8, isDark);
        this.#set(8, this.#size - 15 + bit, isDark);
      }
    }
    this.#set(8, this.#size - 8, true);
  }
}

function isSet(bits: number, bit: number): boolean {
  return ((bits >>> bit) & 1) === 1;
}

/** The value with so many bits behind it by which a reader corrects it. */
function withCheck(value: number, length: number, polynomial: number): number {
  let rest = value;
  for (let bit = 0; bit < length; bit += 1) rest = (rest << 1) ^ ((rest >>> (length - 1)) * polynomial);
  return (value << length) | rest;
}

/** The rows and columns in which the middles of alignment marks lie. */
function alignmentsOf(version: number): readonly number[] {
  if (version === 1) return [];
  const count = Math.floor(version / 7) + 2;
  const step = version === 32 ? 26 : Math.ceil((version * 4 + 4) / (count * 2 - 2)) * 2;
  return [6, ...Array.from({ length: count - 1 }, (_, place) => version * 4 + 10 - (count - 2 - place) * step)];
}

/** Tells how hard a code is to read: long runs, areas, what looks like a position mark, and much more of one colour. */
function penaltyOf(rows: Rows): number {
  const columns = rows.map((_, x) => rows.map((row) => row.charAt(x)).join(''));
  const both = [...rows, ...columns];
  const runs = both.flatMap((line) => line.match(/0{5,}|1{5,}/g) ?? []).reduce((sum, run) => sum + run.length - 2, 0);
  const marks = both.flatMap((line) => `0000${line}0000`.match(/(?=00001011101|10111010000)/g) ?? []).length;
  const areas = rows.slice(1).reduce((sum, row, y) => {
    const pairs = [...row].map((sign, x) => `${sign}${row.charAt(x + 1)}${rows[y]?.slice(x, x + 2)}`);
    return sum + pairs.filter((four) => four === '0000' || four === '1111').length;
  }, 0);
  const modules = rows.length * rows.length;
  const dark = rows.join('').replaceAll('0', '').length;
  return runs + 3 * areas + 40 * marks + 10 * (Math.ceil(Math.abs(dark * 20 - modules * 10) / modules) - 1);
}
