import { generateKeyPairSync } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { entryOf, forge } from '../../evidence/forged-file';
import { createPolicy } from '../../support/application/factories';
import { send } from '../../support/application/send';
import { verifierKey } from '../../verification/literal-notes';
import { describeInBrowser, ELSEWHERE, type Page, signIn, type WindowOptions } from '../browser';
import { askToPay, companyStage, PAYMENT } from '../company';

/** The error of a browser that has no network. */
const OFFLINE = { expected: [/ERR_INTERNET_DISCONNECTED/] };
/** Text with which a page that took it for markup would show or do something. */
const MARKUP = '<img src=x onerror="document.title=1"></p><h1>RECOMPUTED</h1>\u202e';

interface Settled {
  readonly id: string;
  readonly decisionId: string;
}

async function drop(page: Page, text: string, name = 'some.evidence.json'): Promise<void> {
  const dataTransfer = await page.evaluateHandle(`(() => {
    const data = new DataTransfer();
    data.items.add(new File([${JSON.stringify(text)}], ${JSON.stringify(name)}));
    return data;
  })()`);
  await page.dispatchEvent('main', 'drop', { dataTransfer });
}

function recomputing(page: Page): ReturnType<Page['getByRole']> {
  return page.getByRole('region', { name: 'Recompute a decision' });
}

async function keepKey(page: Page, key: string): Promise<void> {
  await page.getByLabel('Public key of the log').fill(key);
  await page.getByRole('button', { name: 'Keep it in this browser' }).click();
}

describeInBrowser('The decision file in the console', () => {
  const stage = companyStage(() => ({ RETAIN_AT_LEAST: 'PT0S' }));

  async function post(path: string, key: string, body: object = {}): Promise<void> {
    const { status } = await send(stage.company.program, 'POST', `/api/v1${path}`, { key, body });
    expect([path, status]).toEqual([path, expect.any(Number)]);
    expect(status).toBeLessThan(300);
  }

  /** Asked, approved by both groups, continued and reported. */
  async function settled(parameters: object = {}): Promise<Settled> {
    const { bot, finn, sara } = stage.company;
    const execution = await askToPay(stage.company, { ...parameters });
    await post(`/decisions/${execution.decisionId}/approve`, finn.key, { comment: 'Known invoice.' });
    await post(`/decisions/${execution.decisionId}/approve`, sara.key);
    await post(`/executions/${execution.id}/resume`, bot.key);
    await post(`/executions/${execution.id}/result`, bot.key, { outcome: 'executed', result: { paid: true } });
    return execution;
  }

  async function fileOf(id: string): Promise<string> {
    const { program } = stage.company;
    return (await send(program, 'GET', `/api/v1/executions/${id}/evidence`, { key: program.key })).text;
  }

  async function publicKey(): Promise<string> {
    const { program } = stage.company;
    return (await send(program, 'GET', '/api/v1/provenance/checkpoint', { key: program.key })).body.publicKey;
  }

  async function open(path: string, key = stage.company.sara.key, options: WindowOptions = {}): Promise<Page> {
    const page = await stage.browser.open(`${stage.company.program.url}/console/${path}`, options);
    await signIn(page, key);
    return page;
  }

  it('is downloaded from an execution and from its decision, byte for byte', async () => {
    const { id, decisionId } = await settled();
    for (const path of [`executions/${id}`, `decisions/${decisionId}`]) {
      const page = await open(path);
      const [download] = await Promise.all([
        page.waitForEvent('download'),
        page.getByRole('button', { name: 'Decision file' }).click(),
      ]);
      expect(download.suggestedFilename()).toBe(`${id}.evidence.json`);
      const saved = JSON.parse(readFileSync(await download.path(), 'utf8'));
      expect(saved).toMatchObject({ format: 'agent-governance-evidence/1', executionId: id });
    }
  });

  it('is not offered to whoever may not see the trail', async () => {
    const { id, decisionId } = await settled();
    for (const path of [`executions/${id}`, `decisions/${decisionId}`]) {
      const page = await open(path, stage.company.finn.key);
      await page.getByRole('heading', { level: 1 }).waitFor();
      expect(await page.getByRole('button', { name: 'Decision file' }).count()).toBe(0);
    }
  });

  it('is recomputed in the page with the network off, by a key that is asked for once', async () => {
    const { id } = await settled({ note: MARKUP });
    const [text, key] = [await fileOf(id), await publicKey()];
    const page = await open('proof', undefined, OFFLINE);
    const panel = recomputing(page);
    await page.getByRole('button', { name: /^Verify/ }).waitFor();
    const title = await page.title();
    await page.context().setOffline(true);
    await drop(page, text, `${id}.evidence.json`);
    await keepKey(page, 'governance+1f2e3d4c');
    await panel.getByRole('alert').filter({ hasText: 'This is not a public key' }).waitFor();
    await keepKey(page, `  ${key}\n`);
    const verdict = panel.getByRole('status');
    await verdict.filter({ hasText: 'RECOMPUTED: executed as recorded' }).waitFor();
    const panelText = await panel.innerText();
    for (const part of [
      `Execution ${id}`,
      'payment-bot',
      'pay-invoice on "supplier/Nordwind GmbH"',
      'large-payments',
      'finn',
      'sara',
      'The caller reported the result: executed',
      'That the operator’s clock was right rests on the operator’s word.',
    ])
      expect(panelText).toContain(part);
    expect(panelText.trimEnd().endsWith('RECOMPUTED: executed as recorded')).toBe(true);
    // Text of the file is text.
    expect(panelText).toContain('<img src=x');
    expect(panelText).not.toContain('\u202e');
    expect([await panel.locator('img, h1').count(), await page.title()]).toEqual([0, title]);
    // The next one needs no key, and neither does a page that is loaded anew.
    await drop(page, text.replace('pay-invoice', 'pay-invoicf'));
    await panel
      .getByRole('alert')
      .filter({ hasText: /^INVALID: \d+ faults?$/ })
      .waitFor();
    expect(await panel.getByText(/RECOMPUTED/).count()).toBe(0);
    await page.context().setOffline(false);
    await page.reload();
    await signIn(page, stage.company.sara.key);
    await panel.waitFor();
    // The verifier is loaded after the panel is shown.
    const isLoaded =
      "performance.getEntriesByType('resource').some(({ name, responseEnd }) => /check\\.\\w+\\.js$/.test(name) && responseEnd > 0)";
    // Not by `waitForFunction`, whose later tries the page's content security policy refuses.
    while (!(await page.evaluate(isLoaded))) await page.waitForTimeout(50);
    await page.context().setOffline(true);
    await panel.getByLabel('choose one').setInputFiles({
      ...{ name: 'chosen.evidence.json', mimeType: 'application/json', buffer: Buffer.from(text) },
    });
    await verdict.filter({ hasText: 'RECOMPUTED: executed as recorded' }).waitFor();
  });

  it('is held against what it records: the page says where that differs', async () => {
    const { id } = await settled();
    const forged = forge(await fileOf(id), (file) => {
      entryOf(file, 'agent.created').state.capabilities = [];
    });
    const page = await open('proof');
    await keepKey(page, forged.publicKey);
    await drop(page, forged.text);
    const differs = recomputing(page)
      .getByRole('alert')
      .filter({ hasText: /^DIFFERS: entry \d+: / });
    await differs.waitFor();
    await recomputing(page)
      .getByText(/^DIFFERENCE entry/)
      .first()
      .waitFor();
    expect(await page.getByText(/RECOMPUTED/).count()).toBe(0);
  });

  it('counts by the given key only, and a file that cannot be read says why', async () => {
    const { id } = await settled();
    const [text, key] = [await fileOf(id), await publicKey()];
    const page = await open('proof');
    const panel = recomputing(page);
    const another = verifierKey(key.slice(0, key.indexOf('+')), generateKeyPairSync('ed25519').privateKey);
    await keepKey(page, another);
    await drop(page, text);
    const alert = panel.getByRole('alert');
    await alert.filter({ hasText: 'INVALID: 2 faults' }).waitFor();
    await panel.getByText('FAULT checkpoint: the checkpoint: is not signed by the public key').waitFor();
    await panel.getByRole('button', { name: 'Use another key' }).click();
    await keepKey(page, key);
    await panel.getByRole('status').filter({ hasText: 'RECOMPUTED' }).waitFor();
    for (const [unreadable, why] of [
      [text.slice(0, -9), 'it is not JSON, or was cut off'],
      ['{}', 'it is not a decision file'],
      ['{"format":"\u202e2"}', 'its format is "\\u202e2"'],
    ] as const) {
      await drop(page, unreadable);
      await alert.filter({ hasText: `The file cannot be read: ${why}` }).waitFor();
      expect(await panel.getByText(/RECOMPUTED/).count()).toBe(0);
    }
  });
});

describeInBrowser('A decision file in a page that came by plain http', () => {
  const stage = companyStage();

  it('is not recomputed, since no signature can be checked there, and the page says so', async () => {
    const { program, sara } = stage.company;
    // The browser's own message about such a page.
    const expected = [/Cross-Origin-Opener-Policy header has been ignored/, /Origin-Agent-Cluster header/];
    const page = await stage.browser.open(`${program.url.replace('127.0.0.1', ELSEWHERE)}/console/proof`, { expected });
    await signIn(page, sara.key);
    const { id } = await askToPay(stage.company);
    const evidence = await send(program, 'GET', `/api/v1/executions/${id}/evidence`, { key: sara.key });
    const { publicKey } = (await send(program, 'GET', '/api/v1/provenance/checkpoint', { key: sara.key })).body;
    await keepKey(page, publicKey);
    await drop(page, evidence.text);
    await page.getByText(/This page cannot check the file: .* Open the console by https/).waitFor();
  });
});

describeInBrowser('What was erased, in the console', () => {
  const stage = companyStage(() => ({ RETAIN_AT_LEAST: 'PT0S' }));

  /** The id of a grant whose decision was erased. */
  async function erasedGrant(): Promise<string> {
    const { program, bot, sara } = stage.company;
    const approval = { approvers: [{ subjects: ['role:security'] }], grant: { for: 'P1D' } };
    await createPolicy(program, { name: 'read', effect: 'require_approval', actions: ['read-invoice'], approval });
    const request = { ...PAYMENT, action: 'read-invoice' };
    const { body } = await send(program, 'POST', '/api/v1/agents/payment-bot/execute', { key: bot.key, body: request });
    const grant = { for: 'PT1H' };
    await send(program, 'POST', `/api/v1/decisions/${body.decisionId}/approve`, { key: sara.key, body: { grant } });
    await send(program, 'POST', `/api/v1/executions/${body.id}/cancel`, { key: program.key });
    const erasure = { subjects: [{ type: 'execution', id: body.id }], reason: 'Request 9' };
    expect((await send(program, 'POST', '/api/v1/erasures', { key: program.key, body: erasure })).status).toBe(201);
    const grants = await send(program, 'GET', `/api/v1/grants?decisionId=${body.decisionId}`);
    return grants.body.data[0].id;
  }

  it('is shown as such, where empty fields would be taken for what it said', async () => {
    const { program, finn, sara } = stage.company;
    const { id, decisionId } = await askToPay(stage.company);
    await send(program, 'POST', `/api/v1/decisions/${decisionId}/reject`, { key: finn.key, body: { comment: 'No.' } });
    const body = { subjects: [{ type: 'execution', id }], reason: 'Request 7' };
    const page = await stage.browser.open(`${program.url}/console/executions/${id}`);
    await signIn(page, sara.key);
    await page.getByRole('button', { name: 'Decision file' }).waitFor();
    expect((await send(program, 'POST', '/api/v1/erasures', { key: program.key, body })).status).toBe(201);
    // It is shown as it happens.
    await page.getByText('Contents erased.').waitFor();
    expect(await page.getByRole('heading', { level: 1 }).innerText()).toMatch(
      /^payment-bot requested pay-invoice on supplier/,
    );
    const timeline = page.getByRole('region', { name: 'Timeline' });
    await timeline.getByText('Requested, and sent for approval (contents erased)').waitFor();
    expect(await page.getByRole('region', { name: 'Arguments' }).count()).toBe(0);
    expect(await page.getByRole('button', { name: 'Decision file' }).count()).toBe(0);
    await page.getByRole('link', { name: 'Decision', exact: true }).click();
    await page.getByText('Contents erased.').waitFor();
    await page.getByRole('region', { name: 'Outcome' }).waitFor();
    for (const name of ['The request', 'Why it needs approval', 'What is known about the target'])
      expect(await page.getByRole('region', { name }).count()).toBe(0);
    await page
      .getByRole('link', { name: /^Proof of entry/ })
      .first()
      .click();
    const proof = page.getByRole('region', { name: 'Proof of one entry' });
    await proof.getByText('it is in the ledger as it is shown here').waitFor();
    await proof.getByText('Contents erased: ').waitFor();
    await proof.getByRole('link', { name: /^entry \d+$/ }).click();
    await proof.getByText(/^(Decision|Execution) erased$/).waitFor();
    const proposal = { proposedBy: 'payment-bot', type: 'plan', title: 'Erika Mustermann moves', riskLevel: 'low' };
    const proposed = await send(program, 'POST', '/api/v1/decisions', { key: program.key, body: proposal });
    const path = `/api/v1/decisions/${String(proposed.body.id)}`;
    await send(program, 'POST', `${path}/cancel`, { key: program.key });
    const second = { subjects: [{ type: 'decision', id: proposed.body.id }], reason: 'Request 8' };
    expect((await send(program, 'POST', '/api/v1/erasures', { key: program.key, body: second })).status).toBe(201);
    await page.evaluate(
      `history.pushState(null, '', '/console/decisions/${String(proposed.body.id)}'); dispatchEvent(new PopStateEvent('popstate'));`,
    );
    await page.getByText('Contents erased.').waitFor();
    expect(await page.getByRole('heading', { level: 1 }).innerText()).toBe('plan');
    expect(await page.getByRole('region', { name: 'The proposal' }).count()).toBe(0);
    const grantId = await erasedGrant();
    await page.evaluate(
      `history.pushState(null, '', '/console/grants/${grantId}'); dispatchEvent(new PopStateEvent('popstate'));`,
    );
    await page.getByRole('heading', { name: 'payment-bot may read-invoice on supplier (contents erased)' }).waitFor();
    await page.goBack();
    await page.goBack();
    await page.getByRole('button', { name: /^Verify/ }).click();
    await page.getByText(/The contents of \d+ entries were erased, as later ones say/).waitFor();
  });
});
