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
 * A block of a page as shell: one in YAML that is a CI server's workflow is what its steps run, below its environment. Null
 * for any other language. Packages that steps install are there already.
 */
export function shellOf(block: Block): Block | null {
  if (block.language === 'sh') return block;
  const workflow: Workflow | null = block.language === 'yaml' ? parse(block.text) : null;
  if (workflow?.jobs === undefined) return null;
  const commands = Object.values(workflow.jobs).flatMap(({ env = {}, steps }) => [
    ...Object.entries(env)
      .filter(([, value]) => !String(value).includes('secrets.'))
      .map(([name, value]) => `export ${name}=${value}`),
    ...steps.flatMap(({ run = '' }) => (run === '' || run.startsWith('npm ') ? [] : [run])),
  ]);
  return { ...block, language: 'sh', text: commands.join('\n') };
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
