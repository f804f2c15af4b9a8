/**
 * A text, or its plural forms by the number `n` (CLDR categories). `single` stands for exactly 1 where that reads
 * differently: in Russian `one` covers 21 and 101 too.
 */
export type Message =
  | string
  | {
      readonly single?: string;
      readonly one: string;
      readonly few?: string;
      readonly many?: string;
      readonly other: string;
    };

export type Values = Readonly<Record<string, string | number | bigint>>;

/** The message with its values filled in. Numbers are written as the language writes them. */
export function fill(message: Message, language: string, values: Values = {}): string {
  const text = typeof message === 'string' ? message : pluralForm(message, language, values.n ?? 0);
  return text.replace(/\{(\w+)\}/g, (whole, name: string) => {
    const value = values[name];
    if (value === undefined) return whole;
    return typeof value === 'string' ? value : new Intl.NumberFormat(language).format(value);
  });
}

function pluralForm(forms: Exclude<Message, string>, language: string, n: string | number | bigint): string {
  const number = Number(n);
  if (number === 1 && forms.single !== undefined) return forms.single;
  const category = new Intl.PluralRules(language).select(number);
  const form =
    category === 'one' ? forms.one : category === 'few' ? forms.few : category === 'many' ? forms.many : undefined;
  return form ?? forms.other;
}
