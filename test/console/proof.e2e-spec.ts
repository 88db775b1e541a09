import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SQLITE3 } from '../../src/database/sqlite/sqlite3-file-driver';
import { ROOT } from '../support/documents/markdown';
import { run } from '../support/processes/shell';
import { temporaryDatabase, type TemporaryDatabase } from '../support/database/temporary-database';
import { describeInBrowser, ELSEWHERE, type Page, signIn, type WindowOptions } from './browser';
import { companyStage } from './company';

const PATH_HOLDS = 'Your browser computed the path from entry 5 to the root: it is in the ledger.';
const SIGNED = 'Your browser checked the signature: this head and this root are signed with that key.';

const OTHER_ROOT = 'ab'.repeat(32);

function base64(hex: string): string {
  return Buffer.from(hex, 'hex').toString('base64');
}

describeInBrowser("The console's proof", () => {
  let database: TemporaryDatabase;
  const stage = companyStage(async () => {
    database = await temporaryDatabase();
    return database.environment;
  });
  afterAll(() => database.remove());

  async function open(origin = stage.company.program.url, options: WindowOptions = {}): Promise<Page> {
    const page = await stage.browser.open(`${origin}/console/proof?entry=5`, options);
    await signIn(page, stage.company.sara.key);
    return page;
  }

  it('is downloaded, and holds for the offline verifier by the command that is shown', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'console-proof-'));
    const page = await open();
    for (const [button, file] of [
      [/^Download \d+ entries$/, 'ledger.ndjson'],
      ['Download the checkpoint', 'checkpoint.json'],
    ] as const) {
      const [download] = await Promise.all([
        page.waitForEvent('download'),
        page.getByRole('button', { name: button }).click(),
      ]);
      expect(download.suggestedFilename()).toBe(file);
      await download.saveAs(join(folder, file));
    }
    const command = await page.getByRole('region', { name: 'Command' }).innerText();
    const shown = command.replace('node verifier', `node ${ROOT}/verifier`);
    const { exitCode, output } = await run('sh', ['-c', shown], { folder });
    rmSync(folder, { recursive: true });
    expect([exitCode, output]).toEqual([0, expect.stringContaining('checkpoint')]);
  });

  it('is not taken on trust: the browser checks the signature of the checkpoint', async () => {
    const page = await open();
    await page.getByText(SIGNED).waitFor();
    await page.route('**/provenance/checkpoint', async (route) => {
      const response = await route.fetch();
      const said = (await response.json()) as { checkpoint: string; rootHash: string };
      const checkpoint = said.checkpoint.replace(base64(said.rootHash), base64(OTHER_ROOT));
      await route.fulfill({ response, json: { ...said, checkpoint, rootHash: OTHER_ROOT } });
    });
    await page.getByRole('link', { name: 'Inbox', exact: true }).click();
    await page.getByRole('link', { name: 'Proof', exact: true }).click();
    await page.getByRole('alert').filter({ hasText: 'The signature is not that of the key' }).waitFor();
  });

  it('has no verdict where the browser cannot compute one, and says why', async () => {
    // What the browser itself says of a page that comes by plain http.
    const expected = [/Cross-Origin-Opener-Policy header has been ignored/, /Origin-Agent-Cluster header/];
    const page = await open(stage.company.program.url.replace('127.0.0.1', ELSEWHERE), { expected });
    await page.getByText(/This page cannot check the signature: .* Open the console by https/).waitFor();
    await page.getByText(/This page cannot check the proof: .* Open the console by https/).waitFor();
    expect(await page.getByRole('main').innerText()).not.toMatch(/Your browser c/);
  });

  it('shows how far a verification is, however long that takes', async () => {
    const page = await open();
    await page.clock.install();
    let begun = 0;
    let release = (): void => undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    await page.route('**/provenance/verify', async (route) => {
      begun += 1;
      await released;
      await route.continue();
    });
    await page.route('**/metrics', (route) => route.fulfill({ body: 'governance_verification_entry 7\n' }));
    await page.getByRole('button', { name: /^Verify/ }).click();
    await page.getByText(/^ ?Entry 7 of \d+/).waitFor();
    expect(await page.getByRole('progressbar').getAttribute('value')).toBe('7');
    for (let minute = 0; minute < 10; minute += 1) await page.clock.fastForward('01:00');
    await page.getByText(/ for 1\d min …$/).waitFor();
    expect(begun).toBe(1);
    release();
    await page.getByText('The ledger is sound.').waitFor();
  });

  it('turns red when the ledger was changed behind the service', async () => {
    const page = await open();
    await page.getByText(PATH_HOLDS).waitFor();
    await page.getByRole('button', { name: /^Verify/ }).click();
    await page.getByText('The ledger is sound.').waitFor();
    const foreign = await SQLITE3.open(database.path, 'write');
    await foreign.run(`UPDATE agents SET description = 'harmless' WHERE name = 'payment-bot'`);
    await foreign.close();
    await page.getByRole('button', { name: /^Verify/ }).click();
    await page.getByText('The ledger was tampered with.').waitFor();
    expect(await page.getByRole('alert').innerText()).toContain(stage.company.bot.id);
  });
});
