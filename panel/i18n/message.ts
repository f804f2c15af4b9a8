/**
 * A text. `{name}` stands for a value, `{n|key|keys}` for the form that goes with the number `n`: CLDR's one, few and many in
 * this order, the last for all that follow. Exactly 1 can have a text of its own: in Russian, 21 has the same form.
 */
export type Message = string | { readonly single: string; readonly several: string };

export type Values = Readonly<Record<string, string | number | bigint>>;

/** The message with its values filled in. Numbers are written as the language writes them. */
export function fill(message: Message, language: string, values: Values = {}): string {
  const n = Number(values.n ?? 0);
  const text = typeof message === 'string' ? message : n === 1 ? message.single : message.several;
  return text.replace(/\{(\w+)((?:\|[^|}]+)*)\}/g, (whole, name: string, forms: string) => {
    if (forms !== '') return formFor(n, language, forms.slice(1).split('|'));
    const value = values[name];
    if (value === undefined) return whole;
    return typeof value === 'string' ? value : new Intl.NumberFormat(language).format(value);
  });
}

function formFor(n: number, language: string, forms: readonly string[]): string {
  const place = ['one', 'few', 'many'].indexOf(new Intl.PluralRules(language).select(n));
  return forms[place] ?? forms.at(-1) ?? '';
}
