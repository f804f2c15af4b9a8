/** The columns of a table of keys, each by the titles that a table may give it. The first is an export's. */
export const KEY_COLUMNS = {
  key: ['access_key', 'key', 'ключ'],
  name: ['name', 'label', 'имя', 'название'],
  limit: ['limit_bytes', 'limit', 'лимит'],
  note: ['note', 'заметка'],
} as const;
