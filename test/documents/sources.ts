import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../support/documents/markdown';

/** The texts of all sources of the service, without their tests. */
export function sourceTexts(): string[] {
  const paths = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' });
  const sources = paths.filter((path) => path.endsWith('.ts') && !path.endsWith('.spec.ts'));
  return sources.map((path) => readFileSync(join(ROOT, 'src', path), 'utf8'));
}
