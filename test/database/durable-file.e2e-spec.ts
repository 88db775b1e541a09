import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ROOT } from '../support/documents/markdown';
import { run } from '../support/processes/shell';

const MODULE = join(ROOT, 'dist', 'core', 'files', 'private-file.js');

describe('A file that cannot be written', () => {
  let folder: string;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'governance-test-'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  /** Runs in a shell that limits the size of a file, in blocks. */
  async function replace(path: string, text: string, limit: string): Promise<string> {
    const program = `require(${JSON.stringify(MODULE)}).replaceFile(...process.argv.slice(1)).catch(({ code }) => console.log(code))`;
    const script = `ulimit -f ${limit} && exec "$0" -e "$1" "$2" "$3"`;
    const { output, errors } = await run('sh', ['-c', script, process.execPath, program, path, text]);
    expect(errors).toBe('');
    return output.trimEnd();
  }

  it('for lack of space stays as it was, and nothing is left next to it', async () => {
    const path = join(folder, 'kept');
    writeFileSync(path, 'previous');
    expect(await replace(path, 'new', '0')).toBe('EFBIG');
    expect(readdirSync(folder)).toEqual(['kept']);
    expect(readFileSync(path, 'utf8')).toBe('previous');
    expect(await replace(path, 'new', 'unlimited')).toBe('');
    expect(readdirSync(folder)).toEqual(['kept']);
    expect(readFileSync(path, 'utf8')).toBe('new');
  });

  it('because its target cannot be replaced leaves nothing next to it', async () => {
    const path = join(folder, 'kept');
    mkdirSync(path);
    expect(await replace(path, 'new', 'unlimited')).toBe('EISDIR');
    expect(readdirSync(folder)).toEqual(['kept']);
  });
});
