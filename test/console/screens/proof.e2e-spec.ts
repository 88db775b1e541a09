import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SqliteConnection } from '../../../src/ledger/database/sqlite/sqlite-connection';
import { ROOT } from '../../support/documents/markdown';
import { run } from '../../support/processes/shell';
import { startProgram } from '../../support/processes/started-program';
import { temporaryDatabase, type TemporaryDatabase } from '../../support/database/temporary-database';
import { describeInBrowser, ELSEWHERE, type Page, signIn, type WindowOptions } from '../browser';
import { companyStage, MAIN } from '../company';
import { addClaim, createEntity } from '../../support/application/factories';
import { send } from '../../support/application/send';

const PATH_HOLDS =
  'Your browser computed the hashes of entry 5 and its path to the root above: it is in the ledger as it is shown here.';
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

  it('can be downloaded, and the command shown has the offline verifier confirm it', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'console-proof-'));
    const page = await open();
    // The dialogue of the browser is nobody's here to answer.
    await page.evaluate('delete window.showSaveFilePicker');
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
    const localCommand = command.replace('node verifier', `node ${ROOT}/verifier`);
    const { exitCode, output } = await run('sh', ['-c', localCommand], { folder });
    rmSync(folder, { recursive: true });
    expect([exitCode, output]).toEqual([0, expect.stringContaining('checkpoint')]);
  });

  it('need not be trusted: the browser checks the signature of the checkpoint', async () => {
    const page = await open();
    await page.getByText(SIGNED).waitFor();
    await page.route('**/provenance/checkpoint', async (route) => {
      const response = await route.fetch();
      const body = (await response.json()) as { checkpoint: string; rootHash: string };
      const checkpoint = body.checkpoint.replace(base64(body.rootHash), base64(OTHER_ROOT));
      await route.fulfill({ response, json: { ...body, checkpoint, rootHash: OTHER_ROOT } });
    });
    await page.getByRole('link', { name: 'Inbox', exact: true }).click();
    await page.getByRole('link', { name: 'Proof', exact: true }).click();
    await page.getByRole('alert').filter({ hasText: 'The signature is not that of the key' }).waitFor();
  });

  it('is as of the time that it states, until it is loaded again', async () => {
    const { program, supplier } = stage.company;
    const page = await open();
    const ledger = page.getByRole('region', { name: 'The ledger', exact: true });
    await ledger.getByText(/^loaded (?:just now|\d+ s ago)$/).waitFor();
    await addClaim(program, supplier.id, { predicate: 'seen', value: true });
    const { body } = await send(program, 'GET', '/api/v1/provenance/checkpoint', { key: program.key });
    await ledger.getByRole('button', { name: 'Refresh' }).click();
    await ledger.getByText(`entry ${String(body.size)}`, { exact: true }).waitFor();
    await page.getByRole('button', { name: `Verify ${String(body.size)} entries` }).waitFor();
  });

  it('shows a verdict with its entries and its time, and only next to the head that it is about', async () => {
    const { program, supplier } = stage.company;
    const page = await open();
    const refresh = async (): Promise<void> => {
      const isLoaded = page.waitForResponse('**/provenance/checkpoint');
      await page.getByRole('button', { name: 'Refresh' }).click();
      await (await isLoaded).finished();
    };
    await page.getByRole('button', { name: /^Verify/ }).click();
    const sound = page.getByRole('status').filter({ hasText: 'The ledger is sound.' });
    await sound.waitFor();
    const { size } = (await send(program, 'GET', '/api/v1/provenance/checkpoint', { key: program.key })).body;
    expect(await sound.innerText()).toMatch(new RegExp(`Entries 1–${String(size)}, verified at .*\\d\\d:\\d\\d:`));
    const ledger = page.getByRole('region', { name: 'The ledger', exact: true });
    const before = await ledger.locator('time').getAttribute('datetime');
    await refresh();
    // The same head again, on a page that is rendered anew.
    await ledger.locator(`time:not([datetime="${String(before)}"])`).waitFor();
    expect(await sound.count()).toBe(1);
    await addClaim(program, supplier.id, { predicate: 'seen', value: false });
    await refresh();
    await page.getByText(`entry ${String(Number(size) + 1)}`, { exact: true }).waitFor();
    expect(await sound.count()).toBe(0);
  });

  it('is not sound if another ledger has taken the place of the one whose root is shown', async () => {
    const environment = { SIGNING_KEY: Buffer.alloc(32, 'of both').toString('base64') };
    const [first, second] = await Promise.all([startProgram(MAIN, environment), startProgram(MAIN, environment)]);
    // As many entries, each ledger consistent by itself, and signed with the same key.
    await createEntity(first, { type: 'supplier', name: 'Nordwind GmbH' });
    await createEntity(second, { type: 'supplier', name: 'Someone else' });
    const page = await stage.browser.open(`${first.url}/console/proof`);
    await signIn(page, first.key);
    await page.getByText(SIGNED).waitFor();
    const verify = page.getByRole('button', { name: /^Verify/ });
    await verify.click();
    await page.getByText('The ledger is sound.').waitFor();
    await page.route('**/provenance/verify', async (route) => {
      const url = route.request().url().replace(first.url, second.url);
      await route.fulfill({ response: await route.fetch({ url }) });
    });
    await verify.click();
    const { rootHash } = (await first.send('GET', '/api/v1/provenance/checkpoint')).body;
    await page
      .getByRole('alert')
      .filter({ hasText: `did not lead to the root that was shown: ${String(rootHash)}` })
      .waitFor();
    expect(await page.getByText('The ledger is sound.').count()).toBe(0);
    // The page would ask the program that has ended.
    await stage.browser.closeWindows();
    await Promise.all([first.stop(), second.stop()]);
  });

  it('is not sound if the root that is shown is not the one in the checkpoint, and says so', async () => {
    const page = await open();
    await page.getByText(SIGNED).waitFor();
    await page.route('**/provenance/checkpoint', async (route) => {
      const response = await route.fetch();
      const body = (await response.json()) as object;
      await route.fulfill({ response, json: { ...body, rootHash: 'a'.repeat(64) } });
    });
    await page.getByRole('button', { name: 'Refresh' }).click();
    await page.getByRole('alert').filter({ hasText: 'Do not rely on this checkpoint.' }).waitFor();
    await page.getByRole('button', { name: /^Verify/ }).click();
    await page.getByRole('alert').filter({ hasText: 'does not have the head and the root that are shown' }).waitFor();
    expect(await page.getByText('The ledger is sound.').count()).toBe(0);
  });

  it('is not sound if the service did not sign the checkpoint that is shown', async () => {
    const page = await open();
    await page.route('**/provenance/checkpoint', async (route) => {
      const response = await route.fetch();
      const body = (await response.json()) as { checkpoint: string };
      // The signature is the last line: its first characters name the key.
      const checkpoint = body.checkpoint.replace(/.{20}(?=\n$)/, 'AAAAAAAAAAAAAAAAAA==');
      await route.fulfill({ response, json: { ...body, checkpoint } });
    });
    await page.getByRole('button', { name: 'Refresh' }).click();
    await page.getByRole('alert').filter({ hasText: 'The signature is not that of the key' }).waitFor();
    await page.getByRole('button', { name: /^Verify/ }).click();
    await page.getByRole('alert').filter({ hasText: 'The service did not sign the checkpoint' }).waitFor();
    expect(await page.getByText('The ledger is sound.').count()).toBe(0);
  });

  it.each(['rootHash', 'size'])('does not call another %s signed where the note is still the same', async (member) => {
    const page = await open();
    await page.getByText(SIGNED).waitFor();
    await page.route('**/provenance/checkpoint', async (route) => {
      const response = await route.fetch();
      const body = (await response.json()) as { size: number };
      await route.fulfill({ response, json: { ...body, [member]: member === 'size' ? body.size - 1 : OTHER_ROOT } });
    });
    const isLoaded = page.waitForResponse('**/provenance/checkpoint');
    await page.getByRole('button', { name: 'Refresh' }).click();
    await (await isLoaded).finished();
    await page.getByRole('alert').filter({ hasText: 'The signature is not that of the key' }).waitFor();
    expect(await page.getByText(SIGNED).count()).toBe(0);
  });

  it('is not taken on trust: nor is what an entry says, nor to which root its path leads', async () => {
    const page = await open();
    await page.getByText(PATH_HOLDS).waitFor();
    const again = async (): Promise<void> => {
      await page.getByRole('link', { name: 'Inbox', exact: true }).click();
      await page.goBack();
    };
    const refused = page.getByRole('alert').filter({ hasText: 'it is not in the ledger like this' });
    await page.route('**/provenance/5', async (route) => {
      const response = await route.fetch();
      const entry = (await response.json()) as { audit: object };
      await route.fulfill({ response, json: { ...entry, audit: { ...entry.audit, reason: 'harmless' } } });
    });
    await again();
    await refused.waitFor();
    await page.unroute('**/provenance/5');
    await again();
    await page.getByText(PATH_HOLDS).waitFor();
    // Consistent by itself, and of another tree than the checkpoint's.
    await page.route('**/provenance/5/proof*', async (route) => {
      await route.fulfill({
        response: await route.fetch({
          url: route
            .request()
            .url()
            .replace(/size=\d+/, 'size=5'),
        }),
      });
    });
    await again();
    await refused.waitFor();
  });

  it('is written to a file as it comes, where the browser can do that', async () => {
    const page = await open();
    await page.evaluate(`window.showSaveFilePicker = async ({ suggestedName }) => {
      const folder = await navigator.storage.getDirectory();
      return folder.getFileHandle(suggestedName, { create: true });
    };`);
    await page.getByRole('button', { name: /^Download \d+ entries$/ }).click();
    await page.getByRole('button', { name: 'Downloading …' }).waitFor({ state: 'detached' });
    const lines: string = await page.evaluate(`navigator.storage.getDirectory()
      .then((folder) => folder.getFileHandle('ledger.ndjson')).then((file) => file.getFile()).then((file) => file.text())`);
    const { size } = (
      await send(stage.company.program, 'GET', '/api/v1/provenance/checkpoint', { key: stage.company.program.key })
    ).body;
    expect(JSON.parse(lines.split('\n')[size - 1] ?? '')).toMatchObject({ sequence: size });
    // Who closes the dialogue wants nothing, and has done nothing wrong.
    await page.evaluate(`window.showSaveFilePicker = async () => { throw new DOMException('closed', 'AbortError'); };`);
    await page.getByRole('button', { name: /^Download \d+ entries$/ }).click();
    await page.getByRole('button', { name: /^Download \d+ entries$/ }).waitFor();
    expect(await page.getByRole('alert').count()).toBe(0);
  });

  it('shows no verdict on a signature that the browser cannot check, and says why', async () => {
    // The browser's own message about a page loaded over plain http.
    const expected = [/Cross-Origin-Opener-Policy header has been ignored/, /Origin-Agent-Cluster header/];
    const page = await open(stage.company.program.url.replace('127.0.0.1', ELSEWHERE), { expected });
    await page.getByText(/This page cannot check the signature: .* Open the console by https/).waitFor();
    // Hashes need nothing of the browser.
    await page.getByText(PATH_HOLDS).waitFor();
    expect(await page.getByRole('main').innerText()).not.toContain('Your browser checked');
  });

  it('shows the progress of a verification, however long it takes', async () => {
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

  it('shows the progress of a verification where the metrics take longer than the time between two looks', async () => {
    const page = await open();
    await page.clock.install();
    let release = (): void => undefined;
    const verified = new Promise<void>((resolve) => (release = resolve));
    await page.route('**/provenance/verify', async (route) => {
      await verified;
      await route.continue();
    });
    let looks = 0;
    let answer = (): void => undefined;
    const slow = new Promise<void>((resolve) => (answer = resolve));
    await page.route('**/metrics', async (route) => {
      looks += 1;
      const look = looks;
      if (look === 2) await slow;
      // Whoever gives up the second look never gets an answer.
      if (look <= 2)
        await route.fulfill({ body: `governance_verification_entry ${6 + look}\n` }).catch(() => undefined);
    });
    await page.getByRole('button', { name: /^Verify/ }).click();
    await page.getByText(/^ ?Entry 7 of \d+/).waitFor();
    await Promise.all([page.waitForRequest('**/metrics'), page.clock.runFor(2_000)]);
    await page.clock.runFor(10_000);
    answer();
    await page.getByText(/^ ?Entry 8 of \d+/).waitFor();
    release();
    await page.getByText('The ledger is sound.').waitFor();
  });

  it("turns red if the ledger was changed behind the service's back", async () => {
    const page = await open();
    await page.getByText(PATH_HOLDS).waitFor();
    await page.getByRole('button', { name: /^Verify/ }).click();
    await page.getByText('The ledger is sound.').waitFor();
    expect(await page.getByRole('status').filter({ hasText: 'The ledger is sound.' }).innerText()).not.toContain(
      '(0 s)',
    );
    const foreign = await SqliteConnection.open(database.path, 'write');
    await foreign.run(`UPDATE agents SET description = 'harmless' WHERE name = 'payment-bot'`);
    await foreign.close();
    await page.getByRole('button', { name: /^Verify/ }).click();
    await page.getByText('The ledger was tampered with.').waitFor();
    expect(await page.getByRole('alert').innerText()).toContain(stage.company.bot.id);
  });
});
