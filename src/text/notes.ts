/** The most characters of an operator's note on a key. */
export const LONGEST_NOTE = 1_000;

/** Returns true for a note with more Unicode code points than that, each of which takes one or two of a string's units. */
export const isTooLongNote = (note: string): boolean => [...note.slice(0, 2 * LONGEST_NOTE + 1)].length > LONGEST_NOTE;
