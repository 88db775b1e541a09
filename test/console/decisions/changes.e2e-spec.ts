import { type ChangeStage, newPolicy, type Person, startChanges } from '../../changes/support';
import { API_KEY } from '../../support/application/api-key';
import type { TestApp } from '../../support/application/create-test-app';
import { createAgent } from '../../support/application/factories';
import { send } from '../../support/application/send';
import { describeInBrowser, type Page, signIn, TestBrowser } from '../browser';
import { violations, withAxe } from '../look';

describeInBrowser('Changes that need a second person, in the console', () => {
  let stage: ChangeStage;
  let browser: TestBrowser;
  let botId: string;

  beforeAll(async () => {
    const prepare = async (app: TestApp): Promise<void> => {
      botId = (await createAgent(app, { name: 'bot', capabilities: ['look'] })).id;
      await createAgent(app, { name: 'other-bot', capabilities: ['look'] });
      await send(app, 'POST', '/api/v1/agents/bot/suspend');
    };
    stage = await startChanges({}, { scopes: ['policies', 'agents', 'read', 'audit'], prepare });
    browser = await TestBrowser.launch();
  });
  afterEach(async () => {
    const faults = browser.takeFaults();
    await browser.closeWindows();
    expect(faults).toEqual([]);
  });
  afterAll(async () => {
    await browser.close();
    await stage.app.close();
  });

  async function open(path: string, key: string): Promise<Page> {
    const page = await browser.open(`${stage.app.url}/console${path}`);
    await signIn(page, key);
    return page;
  }

  /** Finds the notice in which a form says what became of its change. */
  const noticeOf = (page: Page) =>
    page.getByRole('main').getByRole('status').filter({ hasText: 'Nothing has changed' });

  async function proposedId(page: Page): Promise<string> {
    return noticeOf(page).locator('code').innerText();
  }

  async function approve(page: Page): Promise<void> {
    await page.locator('button:enabled', { hasText: 'Approve' }).click();
    await page.getByRole('button', { name: 'Approve it, at high risk' }).click();
  }

  async function approveByRequest(id: string, { key }: Person): Promise<void> {
    const { status } = await send(stage.app, 'POST', `/api/v1/decisions/${id}/approve`, { key, body: {} });
    expect(status).toBe(200);
  }

  it('are proposed by a form, shown whole to who approves them, and made by one click', async () => {
    const { app, ada, cyd } = stage;
    const page = await open('/agents', cyd.key);
    await page.getByRole('button', { name: 'Register an agent' }).click();
    const form = page.getByRole('form', { name: 'Register an agent' });
    await form.getByLabel('Name').fill('new-bot');
    await form.getByLabel('Capabilities').fill('look');
    await form.getByRole('button', { name: 'Register it' }).click();
    const notice = noticeOf(page);
    await notice.getByText(/Proposed as dec_.*it needs 1 of anybody/).waitFor();
    expect(await notice.innerText()).toContain('new-bot');
    expect(await notice.getByRole('button').count()).toBe(0);
    await withAxe(page);
    expect(await violations(page)).toEqual([]);

    const other = await open('/inbox', ada.key);
    await other.getByRole('link', { name: /new-bot/ }).click();
    const change = other.getByRole('region', { name: 'The change' });
    await change.getByText('POST /api/v1/agents').waitFor();
    await change.getByText('"name": "new-bot"').waitFor();
    expect(await change.innerText()).toMatch(/What it does\s+.*new-bot.*Proposed by\s+cyd/s);
    await withAxe(other);
    expect(await violations(other)).toEqual([]);
    expect((await send(app, 'GET', '/api/v1/agents/new-bot')).status).toBe(404);
    await approve(other);
    await other.getByText('The decision is approved.').waitFor();

    await page.getByText('Approved by ada. Nothing has changed yet.').waitFor();
    await page.getByRole('button', { name: 'Make the change' }).click();
    await form.waitFor({ state: 'detached' });
    await page.getByRole('link', { name: /new-bot/ }).waitFor();
    expect((await send(app, 'GET', '/api/v1/agents/new-bot')).body.capabilities).toEqual(['look']);
  });

  it('are rejected with the words of who did it', async () => {
    const { app, ben, cyd } = stage;
    const page = await open('/agents', cyd.key);
    await page.getByRole('button', { name: 'Register an agent' }).click();
    const form = page.getByRole('form', { name: 'Register an agent' });
    await form.getByLabel('Name').fill('bad-bot');
    await form.getByRole('button', { name: 'Register it' }).click();
    const id = await proposedId(page);
    await send(app, 'POST', `/api/v1/decisions/${id}/reject`, { key: ben.key, body: { comment: 'What for?' } });
    await page.getByText('It is rejected, and nothing has changed.').waitFor();
    await form.getByText('What for?').waitFor();
    expect(await page.getByRole('button', { name: 'Make the change' }).count()).toBe(0);
  });

  it('of agents and policies are made from their forms', async () => {
    const { app, ada, cyd } = stage;
    const page = await open(`/agents/${botId}`, cyd.key);
    await page.getByRole('button', { name: 'Resume' }).click();
    await page.getByRole('button', { name: 'Resume it now' }).click();
    await approveByRequest(await proposedId(page), ada);
    await page.getByRole('button', { name: 'Make the change' }).click();
    await page.getByRole('button', { name: 'Suspend' }).waitFor();

    await page.getByRole('button', { name: 'Change it' }).click();
    await page.getByLabel('Roles').fill('viewer');
    await page.getByRole('button', { name: 'Save' }).click();
    await approveByRequest(await proposedId(page), ada);
    await page.getByRole('button', { name: 'Make the change' }).click();
    await page.getByRole('form', { name: 'Change it' }).waitFor({ state: 'detached' });
    expect((await send(app, 'GET', '/api/v1/agents/bot')).body).toMatchObject({ status: 'active', roles: ['viewer'] });

    await page.getByRole('link', { name: 'Policies' }).click();
    await page.getByRole('button', { name: 'New policy' }).click();
    const policy = newPolicy();
    await page.getByLabel('The policy').fill(JSON.stringify(policy));
    await page.getByRole('button', { name: 'Show what it would change' }).click();
    await page.getByRole('button', { name: 'Activate it' }).click();
    await approveByRequest(await proposedId(page), ada);
    await page.getByRole('button', { name: 'Make the change' }).click();
    await page.getByRole('link', { name: new RegExp(String(policy['name'])) }).waitFor();
  });

  it('of keys need two people if no person proposes them, and show the secret to whoever did', async () => {
    const { app, ada, ben } = stage;
    const page = await open('/agents', API_KEY);
    await page.getByRole('button', { name: 'Issue a key' }).click();
    const form = page.getByRole('form', { name: 'Issue a key' });
    await form.getByLabel('Name').fill('reading');
    await form.getByRole('button', { name: 'Issue the key' }).click();
    await page.getByText(/needs 2 of anybody/).waitFor();
    const id = await proposedId(page);
    await approveByRequest(id, ada);
    await page.getByText(/needs 1 of anybody/).waitFor();
    await approveByRequest(id, ben);
    await page.getByText('Approved by ada and ben.').waitFor();
    await page.getByRole('button', { name: 'Make the change' }).click();
    await page.getByText('The key reading is issued.').waitFor();
    const key = await page.locator('.issued code').innerText();
    expect((await send(app, 'GET', '/api/v1/me', { key })).status).toBe(200);
    await page.getByRole('button', { name: 'I have saved it' }).click();
  });

  it('lift stops', async () => {
    const { app, ada, ben } = stage;
    await send(app, 'POST', '/api/v1/stops', { body: { agentId: 'other-bot', reason: 'It loops.' } });
    const page = await open('/inbox', API_KEY);
    await page.getByRole('button', { name: 'Lift' }).click();
    await page.getByRole('form', { name: 'Lift the stop' }).getByLabel('Reason').fill('It is mended.');
    await page.getByRole('button', { name: 'Lift it now' }).click();
    const id = await proposedId(page);
    for (const person of [ada, ben]) await approveByRequest(id, person);
    await page.getByRole('button', { name: 'Make the change' }).click();
    await page.getByRole('alert', { name: 'Stopped' }).waitFor({ state: 'detached' });
  });

  it('cannot be approved before their body is shown, nor by who is no person', async () => {
    const { app, ada, cyd } = stage;
    const body = {
      ...newPolicy(),
      description: 'x'.repeat(1_900),
      subjects: Array.from({ length: 60 }, (_, index) => `role:r${index}`),
    };
    const { body: decision } = await send(app, 'POST', '/api/v1/policies', { key: cyd.key, body });
    const page = await open(`/decisions/${decision.id}`, ada.key);
    await page.getByText('You can approve once everything is on screen: still hidden: Body.').waitFor();
    expect(await page.getByRole('button', { name: 'Approve' }).isDisabled()).toBe(true);
    await page.getByRole('button', { name: /Show all of it/ }).click();
    await page.locator('button:enabled', { hasText: 'Approve' }).waitFor();
    const operator = await open(`/decisions/${decision.id}`, API_KEY);
    await operator.getByText('People approve it, each with a key of their own.').waitFor();
    expect(await operator.getByRole('button', { name: 'Approve' }).isDisabled()).toBe(true);
    await operator.getByRole('button', { name: 'Reject' }).click();
    await operator.getByText('The decision is rejected.').waitFor();
    await page.getByText('The decision is rejected.').waitFor();
  });

  it('made in an emergency wait in the inbox for their review, and Overview counts them', async () => {
    const { app, ada } = stage;
    const headers = { 'Break-Glass': encodeURIComponent('The only reviewer is ill.') };
    const { status } = await send(app, 'POST', '/api/v1/agents', { body: { name: 'glass-bot' }, headers });
    expect(status).toBe(201);
    const overview = await open('/overview', API_KEY);
    await overview.getByText('1 change was made in an emergency, and nobody has reviewed it').waitFor();
    const panel = overview.getByRole('region', { name: 'Changes that need a second person' });
    const text = (await panel.innerText()).replace(/\s+/g, ' ');
    expect(text).toMatch(
      /Proposed \d+ Approved \d+ Rejected 2 Made 6 Made in an emergency 1 Emergencies not reviewed 1/,
    );

    const page = await open('/inbox', ada.key);
    await page.getByRole('link', { name: /Review of an emergency.*glass-bot/ }).click();
    const change = page.getByRole('region', { name: 'The change' });
    await change.getByText('The only reviewer is ill.').waitFor();
    await change.getByText('POST /api/v1/agents').waitFor();
    await change.getByText('It was made in an emergency, without a second person.').waitFor();
    await approve(page);
    await page.getByText('1 of 2').first().waitFor();
  });
});
