import type { KeptRecords, RecordChange } from '../../core/kept-records.js';

/** Returns the changes that put notes, as records have them. */
export const notesPut = (notes: ReadonlyMap<string, string>): readonly RecordChange[] =>
  [...notes].map(([id, body]) => ({ kind: 'notes', id, body }));

/**
 * Puts the notes of a restored state before `work` brings the rest, and those that were there back if it rejects. A crash
 * between the two is one in the middle of the restore, which the next start finishes.
 */
export async function withNotes(
  records: KeptRecords,
  notes: ReadonlyMap<string, string>,
  work: () => Promise<void>,
): Promise<void> {
  const present = records.of('notes');
  const former = new Map([...notes.keys()].map((id) => [id, present.get(id) ?? null]));
  await records.change(notesPut(notes)).catch((cause: unknown) => {
    throw new Error('the notes of keys could not be written, and nothing was restored: the log says why', { cause });
  });
  try {
    await work();
  } catch (error) {
    const put = [...former].filter(([id]) => present.get(id) === notes.get(id));
    await records.change(put.map(([id, body]) => ({ kind: 'notes', id, body }))).catch(() => undefined);
    throw error;
  }
}
