const formats = new Map<string, Intl.NumberFormat>();

/** Returns the way that a language writes numbers. Each is made once: to make one takes as long as to write many numbers. */
export function numberFormat(language: string, options: Intl.NumberFormatOptions = {}): Intl.NumberFormat {
  const name = `${language} ${JSON.stringify(options)}`;
  const format = formats.get(name) ?? new Intl.NumberFormat(language, options);
  formats.set(name, format);
  return format;
}
