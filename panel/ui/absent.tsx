import type { Feature } from '../api/offers.js';
import { useWords } from '../i18n/text.js';
import type { IconName } from './icon.js';
import { Empty } from './notice.js';

/** A page that this server has nothing for, and why. */
export function Absent({
  feature,
  icon,
  title,
}: {
  readonly feature: Feature;
  readonly icon: IconName;
  readonly title: string;
}) {
  const words = useWords();
  return (
    <div class="page">
      <h1>{title}</h1>
      <Empty icon={icon} title={words('absent.short')} text={words(`absent.${feature}`)} />
    </div>
  );
}
