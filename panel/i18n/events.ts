import type { Language } from '../store/preferences.js';
import type { Message } from './message.js';

/** Texts of the audit entries, which are written in every language at once. */
export const EVENTS = {
  signIn: { en: 'Signed in to the panel', ru: 'Вход в панель' },
  createKey: { en: 'Created a key', ru: 'Создан ключ' },
  createKeys: { en: 'Created {n} {n|key|keys}', ru: '{n|Создан|Создано} {n} {n|ключ|ключа|ключей}' },
  updateKey: { en: 'Changed a key', ru: 'Изменён ключ' },
  changeKeys: { en: 'Changed {n} {n|key|keys}', ru: '{n|Изменён|Изменено} {n} {n|ключ|ключа|ключей}' },
  setLimit: { en: 'Set the limit of {n} {n|key|keys}', ru: 'Установлен лимит {n} {n|ключа|ключей}' },
  resetKeys: { en: 'Reset the counters of {n} {n|key|keys}', ru: 'Сброшены счётчики {n} {n|ключа|ключей}' },
  rotateKey: { en: 'Gave a key a new secret', ru: 'Ключ заменён новым' },
  deleteKeys: { en: 'Deleted {n} {n|key|keys}', ru: '{n|Удалён|Удалено} {n} {n|ключ|ключа|ключей}' },
  saveConfig: { en: 'Replaced the configuration file', ru: 'Заменён файл конфигурации' },
  saveRules: {
    en: 'Replaced the outbound rules ({n} {n|rule|rules})',
    ru: 'Заменены правила маршрутизации ({n} {n|правило|правила|правил})',
  },
  saveDns: { en: 'Changed the DNS settings', ru: 'Изменены настройки DNS' },
  refreshLists: { en: 'Started a blocklist refresh', ru: 'Запущено обновление списков блокировки' },
} as const satisfies Readonly<Record<string, Readonly<Record<Language, Message>>>>;

export type EventName = keyof typeof EVENTS;
