import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useMemo, useState } from 'preact/hooks';
import { type DnsSettings, isNewerDns, readDns } from '../../api/wire.js';
import { useWords } from '../../i18n/text.js';
import { encodeExact, exactValue } from '../../text/exact-json.js';
import { type JsonNode, memberOf, parseTree, withValue } from '../../text/json-tree.js';
import { Notice } from '../../ui/notice.js';
import { type Section, Sections } from '../../ui/sections.js';
import { DnsFields, ServerFields } from '../dns/dns-fields.js';
import { useFile } from './file-editing.js';
import { FromFile } from './file-page.js';

/** The DNS settings of the file, for servers that have no operations for them. */
export function DnsInFile({ lead }: { readonly lead: ComponentChildren }) {
  const words = useWords();
  const file = useFile();
  const [valid, setValid] = useState(true);
  return (
    <FromFile file={file} title={words('page.dns')} valid={valid} lead={lead}>
      {(tree) => (
        <DnsOfFile key={file.draft?.generation} tree={tree} onChange={file.change} onValid={setValid}>
          {(parts) => <Sections of={parts} />}
        </DnsOfFile>
      )}
    </FromFile>
  );
}

interface DnsOfFileProps {
  readonly tree: JsonNode;
  readonly onChange: (tree: JsonNode) => void;
  readonly onValid: (valid: boolean) => void;
  /** Draws the parts of the form. */
  readonly children: (parts: readonly Section[]) => ComponentChildren;
}

/**
 * The DNS settings of a file; only those that are changed are written. Of the form of 0.4.6 it has the members that both forms share,
 * and says where the others are.
 */
export function DnsOfFile({ tree, onChange, onValid, children }: DnsOfFileProps) {
  const words = useWords();
  const node = memberOf(tree, 'dns');
  const now = useMemo(() => settingsIn(node), [node]);
  const [base] = useState(now);
  const isOlder = now !== null && base !== null && !isNewerDns(now);
  // Nothing of the other form is checked here.
  useLayoutEffect(() => {
    if (!isOlder) onValid(true);
  }, [isOlder]);
  const change = (members: Partial<DnsSettings>) =>
    onChange(
      Object.entries(members).reduce<JsonNode>(
        (changed, [name, value]) =>
          withValue(changed, ['dns', name], value === undefined ? undefined : parseTree(encodeExact(value))),
        tree,
      ),
    );
  if (isOlder) {
    return (
      <DnsFields base={base} now={now} ofFile onChange={change} onValid={onValid}>
        {children}
      </DnsFields>
    );
  }
  const others = <Notice tone="warn">{words('dns.otherKind')}</Notice>;
  if (now === null) return others;
  const content = (
    <ServerFields now={now} ofFile onChange={change}>
      {others}
    </ServerFields>
  );
  return children([{ title: words('config.dns'), content }]);
}

function settingsIn(node: JsonNode | undefined) {
  try {
    return readDns(node === undefined ? {} : exactValue(node));
  } catch {
    return null;
  }
}
