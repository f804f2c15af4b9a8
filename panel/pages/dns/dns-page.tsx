import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { useWords } from '../../i18n/text.js';
import { useServerDraft } from '../../state/drafts.js';
import { dnsDraftsOf } from '../../state/server-drafts.js';
import { useWorkspace } from '../../state/workspace.js';
import { useStore } from '../../store/store.js';
import { Loading } from '../../ui/notice.js';
import { Absent } from '../../ui/page.js';
import { Sections } from '../../ui/sections.js';
import { DnsInFile } from '../file/dns-in-file.js';
import { SettingsPage } from '../settings-page.js';
import { DnsFields } from './dns-fields.js';
import { dnsServerOf } from './dns-server.js';
import { DnsServerView } from './dns-server-view.js';

export function DnsPage() {
  const workspace = useWorkspace();
  const { dns, config } = useStore(workspace.offers);
  const isKnown = useStore(workspace.reach) !== null;
  const { server } = useStore(dnsServerOf(workspace).state);
  const lead = (server !== false || dns !== false) && (isKnown ? <DnsServerView /> : <Loading />);
  if (dns !== false) return <DnsControl lead={lead} />;
  return config === true ? <DnsInFile lead={lead} /> : <Absent page="dns" />;
}

/** The settings of a server that has operations for them, behind what is known of it. */
function DnsControl({ lead }: { readonly lead: ComponentChildren }) {
  const words = useWords();
  const [valid, setValid] = useState(true);
  const edit = useServerDraft(dnsDraftsOf);
  return (
    <SettingsPage title={words('page.dns')} edit={edit} valid={valid} save={words('dns.save')} lead={lead}>
      {({ base, now }) => (
        <DnsFields
          base={base}
          now={now}
          ofFile={false}
          onChange={(members) => edit.change({ ...now, ...members })}
          onValid={setValid}
        >
          {(parts) => <Sections of={parts} />}
        </DnsFields>
      )}
    </SettingsPage>
  );
}
