import { parse } from 'yaml';

/** A fenced block of a page. */
export interface Block {
  /** What stands behind the opening fence; empty without it. */
  readonly language: string;
  readonly text: string;
  /** The line of the opening fence, from 1. */
  readonly line: number;
  /** The lasting command that the reader has ended before this block, as `<!-- ends: COMMAND -->` above it says; else null. */
  readonly ends: string | null;
  /** Why it is not run, as `<!-- not run: REASON -->` above it says; else null. */
  readonly notRun: string | null;
}

/** The fenced blocks of a Markdown text, in order. Throws when one does not end. */
export function blocksOf(markdown: string): readonly Block[] {
  const blocks: Block[] = [];
  let open: { readonly language: string; readonly line: number; readonly lines: string[] } | null = null;
  let ends: string | null = null;
  let notRun: string | null = null;
  for (const [index, line] of markdown.split('\n').entries()) {
    if (open === null && line.startsWith('```')) open = { language: line.slice(3).trim(), line: index + 1, lines: [] };
    else if (open !== null && line === '```') {
      blocks.push({ language: open.language, line: open.line, text: open.lines.join('\n'), ends, notRun });
      open = null;
      ends = null;
      notRun = null;
    } else if (open === null) {
      ends = /^<!-- ends: (.+) -->$/.exec(line)?.[1] ?? ends;
      notRun = /^<!-- not run: (.+) -->$/.exec(line)?.[1] ?? notRun;
    } else open.lines.push(line);
  }
  if (open !== null) throw new Error(`the block of line ${open.line} does not end`);
  return blocks;
}

/**
 * A block of a page as shell, in pieces that are run one after another: one in YAML that is a CI server's workflow is what its
 * steps run, with the job's environment. Empty for any other language. Packages that steps install are there already.
 */
export function shellOf(block: Block): readonly Block[] {
  if (block.language === 'sh') return [block];
  const workflow: Workflow | null = block.language === 'yaml' ? parse(block.text) : null;
  const texts = Object.values(workflow?.jobs ?? {}).flatMap(({ env = {}, steps }) => {
    const given = Object.entries(env).filter(([, value]) => !String(value).includes('secrets.'));
    return [
      given.map(([name, value]) => `export ${name}=${value}`).join('\n'),
      ...steps.flatMap(({ run = '' }) => (run === 'npm ci' ? [] : [run.trim().replace(/ &$/, '')])),
      given.map(([name]) => `unset ${name}`).join('\n'),
    ];
  });
  const [first, ...others] = texts.filter((text) => text !== '').map((text) => ({ ...block, language: 'sh', text }));
  return first === undefined ? [] : [first, ...others.map((other) => ({ ...other, ends: null }))];
}

interface Workflow {
  readonly jobs?: Readonly<
    Record<
      string,
      {
        readonly env?: Readonly<Record<string, unknown>>;
        readonly steps: readonly { readonly run?: string }[];
      }
    >
  >;
}

/**
 * The commands of a block of shell: its lines without comments and without the text of here-documents, those that end in a
 * backslash joined with what follows.
 */
export function commandsOf(text: string): readonly string[] {
  return text
    .replaceAll(/\\\n\s*/g, '')
    .replaceAll(/(<< '(\w+)')\n(?:.*\n)*?\2$/gm, '$1')
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'));
}

/** Where relative links lead, without what follows a `#`. */
export function linksOf(markdown: string): readonly string[] {
  const targets = [...markdown.matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = '']) => target);
  return targets.filter((target) => !/^[a-z]+:/.test(target)).map((target) => target.replace(/#.*$/, ''));
}

/** The line between the head of a table and its rows. */
export const SEPARATOR = /^\|(?:\s*:?-+:?\s*\|)+$/;

/** The tables of a page as GitHub renders them, each with its head and its rows as cells: a line that is no row ends one. */
export function tablesOf(markdown: string): readonly (readonly (readonly string[])[])[] {
  const lines = markdown.split('\n');
  return lines.flatMap((line, index) => {
    const head = cellsOf(lines[index - 1] ?? '');
    if (!SEPARATOR.test(line) || cellsOf(line).length !== head.length) return [];
    const rest = lines.slice(index + 1);
    const end = rest.findIndex((each) => !each.startsWith('|'));
    return [[head, ...rest.slice(0, end < 0 ? rest.length : end).map(cellsOf)]];
  });
}

/** A bar behind a backslash belongs to its cell. */
function cellsOf(line: string): readonly string[] {
  if (!line.startsWith('|')) return [];
  return line
    .trim()
    .slice(1, -1)
    .split(/(?<!\\)\|/)
    .map((cell) => cell.trim());
}

/** The texts in backticks. */
export function quotedIn(cell: string): readonly string[] {
  return [...cell.matchAll(/`([^`]+)`/g)].map(([, text = '']) => text);
}
