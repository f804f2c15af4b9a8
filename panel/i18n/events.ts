import type { Language } from '../store/preferences.js';
import type { Message } from './message.js';

/** Texts of the audit entries, which are written in every language at once. */
export const EVENTS = {
  signIn: { en: 'Signed in to the panel', ru: 'Вход в панель' },
  createKey: { en: 'Created a key', ru: 'Создан ключ' },
  createKeys: {
    en: { one: 'Created {n} key', other: 'Created {n} keys' },
    ru: {
      one: 'Создан {n} ключ',
      few: 'Создано {n} ключа',
      many: 'Создано {n} ключей',
      other: 'Создано {n} ключа',
    },
  },
  updateKey: { en: 'Changed a key', ru: 'Изменён ключ' },
  setLimit: {
    en: { one: 'Set the limit of {n} key', other: 'Set the limit of {n} keys' },
    ru: {
      one: 'Задан лимит {n} ключа',
      few: 'Задан лимит {n} ключей',
      many: 'Задан лимит {n} ключей',
      other: 'Задан лимит {n} ключа',
    },
  },
  resetKeys: {
    en: { one: 'Reset the counters of {n} key', other: 'Reset the counters of {n} keys' },
    ru: {
      one: 'Сброшены счётчики {n} ключа',
      few: 'Сброшены счётчики {n} ключей',
      many: 'Сброшены счётчики {n} ключей',
      other: 'Сброшены счётчики {n} ключа',
    },
  },
  deleteKeys: {
    en: { one: 'Deleted {n} key', other: 'Deleted {n} keys' },
    ru: {
      one: 'Удалён {n} ключ',
      few: 'Удалено {n} ключа',
      many: 'Удалено {n} ключей',
      other: 'Удалено {n} ключа',
    },
  },
  saveConfig: { en: 'Replaced the configuration file', ru: 'Заменён файл конфигурации' },
  saveRules: {
    en: {
      one: 'Replaced the outbound rules ({n} rule)',
      other: 'Replaced the outbound rules ({n} rules)',
    },
    ru: {
      one: 'Заменены правила маршрутизации ({n} правило)',
      few: 'Заменены правила маршрутизации ({n} правила)',
      many: 'Заменены правила маршрутизации ({n} правил)',
      other: 'Заменены правила маршрутизации ({n} правила)',
    },
  },
  saveDns: { en: 'Changed the DNS settings', ru: 'Изменены настройки DNS' },
  refreshLists: { en: 'Started a blocklist refresh', ru: 'Запущено обновление списков блокировки' },
} as const satisfies Readonly<Record<string, Readonly<Record<Language, Message>>>>;

export type EventName = keyof typeof EVENTS;
