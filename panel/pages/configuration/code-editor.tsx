import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { useWords } from '../../i18n/text.js';
import type { Reading } from '../file/document.js';
import { type FileDraft, readingOf, textOfFile } from '../file/file-draft.js';
import { Problem } from '../file/problem.js';

/** Milliseconds after the last key before the text is read again: a large file takes long. */
const REST = 300;
/** Pixels of a line; the stylesheet says the same. */
const LINE = 20;

interface CodeEditorProps {
  readonly draft: FileDraft;
  readonly onType: (text: string) => void;
  readonly onReading: (reading: Reading) => void;
}

/** The file as text, with the numbers of its lines, and with a way to what is wrong in it. */
export function CodeEditor({ draft, onType, onReading }: CodeEditorProps) {
  const words = useWords();
  const area = useRef<HTMLTextAreaElement>(null);
  const gutter = useRef<HTMLPreElement>(null);
  const [reading, setReading] = useState(() => readingOf(draft.now));
  const text = textOfFile(draft.now);
  const lines = countLines(text);
  useEffect(() => {
    const timer = setTimeout(() => setReading(readingOf(draft.now)), REST);
    return () => clearTimeout(timer);
  }, [draft.now]);
  useLayoutEffect(() => onReading(reading), [reading]);
  const follow = () => {
    if (gutter.current !== null) gutter.current.scrollTop = area.current?.scrollTop ?? 0;
  };
  useLayoutEffect(follow, [lines]);
  const jump = (line: number, column: number) => {
    const element = area.current;
    if (element === null) return;
    const start = text.split('\n', line - 1).join('\n').length + (line > 1 ? 1 : 0) + column - 1;
    element.focus();
    element.setSelectionRange(start, Math.min(start + 1, text.length));
    element.scrollTop = Math.max(0, (line - 4) * LINE);
    follow();
  };
  return (
    <>
      <Problem reading={reading} onJump={jump} />
      <div class="code">
        <pre ref={gutter} class="code-lines" aria-hidden="true">
          {Array.from({ length: lines }, (_, index) => index + 1).join('\n')}
        </pre>
        <textarea
          ref={area}
          class="code-editor"
          aria-label={words('config.editor')}
          aria-invalid={!reading.ok}
          aria-describedby="config-problem"
          spellcheck={false}
          autocomplete="off"
          autocapitalize="off"
          wrap="off"
          value={text}
          onInput={(event) => onType(event.currentTarget.value)}
          onScroll={follow}
        />
      </div>
    </>
  );
}

function countLines(text: string): number {
  let lines = 1;
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) lines += 1;
  return lines;
}
