const TYPES = { csv: 'text/csv', json: 'application/json', txt: 'text/plain' } as const;

/** Saves a text as a file, made in the page; its name tells the kind of it, and the time in the viewer's zone, as in `keys-2026-03-01-1405.csv`. */
export function download(name: string, ending: keyof typeof TYPES, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: TYPES[ending] }));
  const link = document.createElement('a');
  link.href = url;
  link.download = `${name}-${stamp(new Date())}.${ending}`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

function stamp(date: Date): string {
  const two = (value: number) => String(value).padStart(2, '0');
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}-${two(date.getHours())}${two(date.getMinutes())}`;
}
