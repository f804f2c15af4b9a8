import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import semver from 'semver';
import { describe, expect, it } from 'vitest';
import { ROOT } from './clone.js';

const changelog = readFileSync(join(ROOT, 'CHANGELOG.md'), 'utf8');
const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));

const headings = [...changelog.matchAll(/^## (.+)$/gm)].map(([, heading = '']) => heading);
const releases = headings.slice(1).map((heading) => /^\[(.+)\] - (\d{4}-\d{2}-\d{2})$/.exec(heading));

describe('CHANGELOG.md, in the form of Keep a Changelog', () => {
  it('starts with what is unreleased, then has releases with a version and a day, newest first', () => {
    expect(changelog.startsWith('# Changelog\n')).toBe(true);
    expect(headings[0]).toBe('[Unreleased]');
    const versions = releases.map((release) => release?.[1] ?? 'none');
    expect(versions.map((each) => semver.valid(each))).toEqual(versions);
    expect(versions).toEqual(versions.toSorted(semver.rcompare));
    for (const release of releases) expect(new Date(release?.[2] ?? '').toISOString()).toContain(release?.[2]);
  });

  it('has the version of package.json, a semantic one, as its newest release once there is one', () => {
    expect(semver.valid(version)).toBe(version);
    if (releases.length > 0) expect(releases[0]?.[1]).toBe(version);
  });

  it('groups changes under the names that the form has, each once in a release', () => {
    for (const section of changelog.split(/^## /m).slice(1)) {
      const groups = [...section.matchAll(/^### (.+)$/gm)].map(([, group = '']) => group);
      expect(['Added', 'Changed', 'Deprecated', 'Removed', 'Fixed', 'Security']).toEqual(
        expect.arrayContaining(groups),
      );
      expect(new Set(groups).size).toBe(groups.length);
      if (!section.startsWith('[Unreleased]')) expect(groups).not.toEqual([]);
    }
  });
});
