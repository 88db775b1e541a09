import type { Locator } from '../../../console/node_modules/playwright-core';
import { createAgent, createPolicy } from '../../support/application/factories';
import { send } from '../../support/application/send';
import { describeInBrowser, type Page, signIn } from '../browser';
import { companyStage } from '../company';
import { overflow, violations, withAxe } from '../look';

const SECURITY = [{ subjects: ['role:security'] }];
const BOTH = [...SECURITY, { subjects: ['role:finance'] }];
const DECISIONS = '/api/v1/decisions';

describeInBrowser('Deciding several at once in the console', () => {
  const stage = companyStage();

  async function open(key: string, width = 1280, expected: RegExp[] = []): Promise<Page> {
    const page = await stage.browser.open(`${stage.company.program.url}/console/inbox`, { width, expected });
    await signIn(page, key);
    return page;
  }

  /** An agent whose action, named like it, needs approvals. */
  async function makeAgent(name: string, approval: object = { riskLevel: 'low', approvers: SECURITY }): Promise<void> {
    const { program } = stage.company;
    await createAgent(program, { name, capabilities: [`run-${name}`] });
    await createPolicy(program, { name, effect: 'require_approval', actions: [`run-${name}`], approval });
  }

  /** Lets the agent request an action. Returns the decision. */
  async function request(name: string, job: string, more: object = {}): Promise<string> {
    const body = { action: `run-${name}`, resourceType: 'job', resourceId: job, parameters: { job }, ...more };
    const { status, body: execution } = await send(stage.company.program, 'POST', `/api/v1/agents/${name}/execute`, {
      body,
    });
    expect(status).toBe(202);
    return execution.decisionId;
  }

  async function requests(name: string, jobs: readonly string[]): Promise<string[]> {
    const ids: string[] = [];
    for (const job of jobs) ids.push(await request(name, job));
    return ids;
  }

  const statuses = (ids: readonly string[]): Promise<string[]> =>
    Promise.all(ids.map(async (id) => (await send(stage.company.program, 'GET', `${DECISIONS}/${id}`)).body.status));

  /** Ticks the boxes of the open review. */
  async function tickAll(page: Page, verb: 'Approve' | 'Reject', count: number): Promise<void> {
    const boxes = page.getByRole('checkbox', { name: new RegExp(`^${verb} request \\d+`) });
    await boxes.nth(count - 1).waitFor();
    for (const box of await boxes.all()) await box.check();
  }

  const group = (page: Page, name: string): Locator =>
    page.getByRole('checkbox', { name: `Select all of ${name}: run-${name}` });

  async function rejectRest(key: string): Promise<void> {
    const { program } = stage.company;
    const { body } = await send(program, 'GET', `${DECISIONS}?status=proposed&limit=1000`);
    for (const { id } of body.data) await send(program, 'POST', `${DECISIONS}/${id}/reject`, { key, body: {} });
  }

  afterEach(() => rejectRest(stage.company.program.key));

  it('two people, one of them on a phone, decide sixty requests of six agents', async () => {
    const { program, sara, finn } = stage.company;
    const names = ['one', 'two', 'three', 'four', 'five', 'six'].map((name) => `${name}-bot`);
    for (const name of names) await makeAgent(name, { riskLevel: 'low', approvers: BOTH });
    const ids: string[] = [];
    for (const name of names)
      ids.push(
        ...(await requests(
          name,
          Array.from({ length: 10 }, (_, job) => `job-${job}`),
        )),
      );

    const desk = await open(sara.key);
    await desk.getByText('Waiting for you 60').waitFor();
    await desk.getByText('six-bot: run-six-bot').waitFor();
    // Folded, sixty fit on little more than one window.
    expect(await desk.evaluate('document.documentElement.scrollHeight')).toBeLessThan(1_720);
    await desk.getByLabel('Agent').fill('six-bot');
    await desk.getByRole('checkbox', { name: 'Select all 10' }).check();
    await desk.getByRole('button', { name: 'Reject selected' }).click();
    await tickAll(desk, 'Reject', 10);
    await desk.getByLabel('Comment').fill('Not this week.');
    await desk.getByRole('button', { name: 'Reject 10 of 10' }).click();
    await desk.getByText('Your rejection of 10 requests is recorded.').waitFor();
    expect(await desk.getByLabel('Agent').inputValue()).toBe('six-bot');
    await desk.getByLabel('Agent').fill('');
    await desk.getByRole('checkbox', { name: 'Select all 50' }).check();
    await desk.getByRole('button', { name: 'Approve selected' }).click();
    await tickAll(desk, 'Approve', 50);
    await desk.getByRole('button', { name: 'Approve 50 of 50' }).click();
    await desk
      .getByText('Your approval of 50 requests is recorded. Others still have to approve 50 of them.')
      .waitFor();
    await desk.getByText('Nothing is waiting for you.').waitFor();

    const phone = await open(finn.key, 390);
    await withAxe(phone);
    await phone.getByText('Waiting for you 50').waitFor();
    for (const name of names.slice(0, 5)) await group(phone, name).check();
    await phone.getByText('50 requests selected').waitFor();
    expect([await overflow(phone), await violations(phone)]).toEqual([0, []]);
    await phone.getByRole('button', { name: 'Approve selected' }).click();
    await phone.getByRole('heading', { level: 1, name: 'Approve 50 requests?' }).waitFor();
    expect([await overflow(phone), await violations(phone)]).toEqual([0, []]);
    await tickAll(phone, 'Approve', 50);
    await phone.getByRole('button', { name: 'Approve 50 of 50' }).click();
    await phone.getByText('Your approval of 50 requests is recorded.').waitFor();
    expect(await overflow(phone)).toBe(0);

    const expected = ids.map((_, index) => (index < 50 ? 'approved' : 'rejected'));
    expect(await statuses(ids)).toEqual(expected);
    const { body } = await send(program, 'GET', `${DECISIONS}/${ids[59]}`);
    expect(body.reviews).toMatchObject([{ approverId: sara.id, comment: 'Not this week.' }]);
  });

  it('shows fifty at a time, and the rest stays selected', async () => {
    await makeAgent('crowd-bot');
    const ids = await requests(
      'crowd-bot',
      Array.from({ length: 53 }, (_, job) => `job-${job}`),
    );
    const page = await open(stage.company.sara.key);
    await group(page, 'crowd-bot').check();
    await page.getByText('53 requests selected (50 at a time)').waitFor();
    await page.getByRole('button', { name: 'Approve selected' }).click();
    await page.getByText('The other 3 stay selected for the next time.').waitFor();
    await tickAll(page, 'Approve', 50);
    await page.getByRole('button', { name: 'Approve 50 of 50' }).click();
    await page.getByText('3 requests selected').waitFor();
    // The newest come first.
    expect(await statuses(ids.slice(0, 4))).toEqual(['proposed', 'proposed', 'proposed', 'approved']);
  });

  it('shows each whole, and only what is ticked is approved', async () => {
    const { program, sara, finn } = stage.company;
    await makeAgent('whole-bot', { riskLevel: 'high', approvers: SECURITY });
    const note = 'x'.repeat(3_000);
    const ids = [
      await request('whole-bot', 'job-1', { parameters: { user: 'eva', password: 'correct horse' } }),
      await request('whole-bot', 'job-2', { parameters: { note }, run: 'night' }),
      await request('whole-bot', 'job-3', { onBehalfOf: { subject: `agent:${finn.id}` } }),
    ];
    const proposal = {
      type: 'hire',
      title: 'Hire eva',
      proposedBy: 'whole-bot',
      riskLevel: 'low',
      approvers: SECURITY,
    };
    const body = { ...proposal, description: 'She is good.', context: { salary: 7 } };
    ids.push((await send(program, 'POST', DECISIONS, { body })).body.id);
    const page = await open(sara.key);
    await page.getByLabel('Search').fill('night');
    await page.getByText('Waiting for you 1').waitFor();
    await page.getByLabel('Search').fill('');
    await page.getByRole('checkbox', { name: 'Select all 4' }).check();
    // What is requested from now on is not selected.
    const later = await request('whole-bot', 'job-5');
    await page.locator('.row', { hasText: 'job-5' }).waitFor();
    await page.getByText('4 requests selected').waitFor();
    await page.getByRole('button', { name: 'Approve selected' }).click();

    await page.getByRole('region', { name: /^4\. whole-bot: / }).waitFor();
    const [third, second, first, hire] = await page.getByRole('region', { name: /^\d\. whole-bot: / }).all();
    const fingerprints = await page.locator('.hash').allInnerTexts();
    const { body: decision } = await send(program, 'GET', `${DECISIONS}/${ids[0]}`);
    expect(fingerprints).toContain(decision.actionHash);
    await first?.getByText('Secret, and not kept: /password.').waitFor();
    await third?.getByText('finn', { exact: true }).waitFor();
    await hire?.getByText('She is good.').waitFor();
    expect(await hire?.getByRole('region', { name: /^Context/ }).innerText()).toContain('"salary": 7');
    const box = page.getByRole('checkbox', { name: 'Approve request 2, at high risk' });
    expect(await box.isDisabled()).toBe(true);
    await second?.getByText('You can tick it once all of it is on screen.').waitFor();
    await second?.getByRole('button', { name: /^Show all of it/ }).click();
    await second?.getByText(note).waitFor();
    await second?.getByText('night', { exact: true }).waitFor();
    expect(await page.getByRole('button', { name: 'Approve 0 of 4' }).isDisabled()).toBe(true);
    await box.check();
    await page.getByRole('checkbox', { name: 'Approve request 4' }).check();

    // Whoever looks at one comes back to what is ticked.
    await page.getByRole('link', { name: 'More about request 3' }).click();
    await page.getByRole('link', { name: '← Inbox' }).click();
    expect(await page.getByRole('checkbox', { name: 'Approve request 4' }).isChecked()).toBe(true);
    // A box is not ticked while something is folded.
    expect(await box.isChecked()).toBe(false);
    await page.getByRole('button', { name: /^Show all of it/ }).click();
    await page.getByRole('button', { name: 'Approve 2 of 4' }).click();
    await page.getByText('Your approval of 2 requests is recorded.').waitFor();
    await page.getByText('2 requests selected').waitFor();
    expect(await statuses([...ids, later])).toEqual(['proposed', 'approved', 'proposed', 'approved', 'proposed']);
  });

  it('says what was refused and why, and approves the rest', async () => {
    const { program, sara } = stage.company;
    await makeAgent('race-bot');
    await makeAgent('denied-bot', { riskLevel: 'medium', approvers: SECURITY });
    const ids = await requests('race-bot', ['job-1', 'job-2', 'job-3', 'job-4', 'job-5']);
    ids.push(await request('denied-bot', 'job-6'));
    const page = await open(sara.key, 1280, [/status of 40[39]/]);
    await page.getByRole('checkbox', { name: 'Select all 6' }).check();
    await page.getByRole('button', { name: 'Approve selected' }).click();
    await tickAll(page, 'Approve', 6);
    let policyId = '';
    await page.route('**/decisions/approve', async (route) => {
      if (policyId !== '') return route.fallback();
      await send(program, 'POST', `${DECISIONS}/${ids[1]}/reject`, { body: {} });
      const resources = ['decisions/medium/*'];
      const policy = { name: 'no-medium', effect: 'deny', actions: ['decision:approve'], resources };
      policyId = (await createPolicy(program, policy)).id;
      return route.fallback();
    });
    await page.getByRole('button', { name: 'Approve 6 of 6' }).click();
    await page.getByText('Your approval of 4 requests is recorded.').waitFor();
    const alert = page.getByRole('alert').filter({ hasText: '2 requests could not be approved:' });
    await alert.getByText(/race-bot: run-race-bot on job\/job-2: The decision is rejected already/).waitFor();
    await alert.getByText(/denied-bot: run-denied-bot on job\/job-6: The policy "no-medium"/).waitFor();
    expect(await statuses(ids)).toEqual(['approved', 'rejected', 'approved', 'approved', 'approved', 'proposed']);
    await send(program, 'POST', `/api/v1/policies/${policyId}/deactivate`, { body: {} });
  });

  it('says a reason once for all that it holds for', async () => {
    const { program, sara } = stage.company;
    await makeAgent('idle-bot');
    await makeAgent('late-bot');
    const ids = await requests('idle-bot', ['job-1', 'job-2', 'job-3']);
    const late = await request('late-bot', 'job-4');
    const page = await open(sara.key, 1280, [/status of 40[39]/]);
    await page.getByRole('checkbox', { name: 'Select all 4' }).check();
    await page.getByRole('button', { name: 'Approve selected' }).click();
    await tickAll(page, 'Approve', 4);
    await page.route('**/decisions/approve', async (route) => {
      await send(program, 'POST', '/api/v1/agents/idle-bot/suspend', { body: {} });
      await send(program, 'POST', `${DECISIONS}/${late}/reject`, { body: {} });
      return route.fallback();
    });
    await page.getByRole('button', { name: 'Approve 4 of 4' }).click();
    const alert = page.getByRole('alert').filter({ hasText: '4 requests could not be approved:' });
    await alert.getByText(/3 requests: The agent "idle-bot"/).waitFor();
    expect((await alert.innerText()).match(/is suspended/g)).toHaveLength(1);
    await alert.getByText(/late-bot: run-late-bot on job\/job-4: The decision is rejected already/).waitFor();
    await alert.getByText('Which they are').click();
    expect(await alert.getByRole('link').count()).toBe(4);
    // The notice keeps its distance from the heading.
    const [notice, heading] = [await alert.boundingBox(), await page.getByRole('heading', { level: 1 }).boundingBox()];
    expect((heading?.y ?? 0) - (notice?.y ?? 0) - (notice?.height ?? 0)).toBeGreaterThanOrEqual(16);
    expect(await statuses(ids)).toEqual(['proposed', 'proposed', 'proposed']);
  });

  it('has the button within reach on a phone, boxes for fingers, and says once what an approval covers', async () => {
    await makeAgent('long-bot');
    await requests('long-bot', ['job-1', 'job-2', 'job-3', 'job-4', 'job-5']);
    const page = await open(stage.company.sara.key, 390);
    await group(page, 'long-bot').check();
    await page.getByRole('button', { name: 'Approve selected' }).click();
    const first = page.locator('label', { hasText: 'Approve request 1' });
    await first.waitFor();
    expect((await first.boundingBox())?.height).toBeGreaterThanOrEqual(40);
    expect(await page.getByText('An approval covers only').count()).toBe(1);
    expect(await page.locator('.hash').count()).toBe(5);
    const button = page.getByRole('button', { name: /^Approve \d of 5$/ });
    const isInWindow = async (): Promise<boolean> => {
      const box = await button.boundingBox();
      return box !== null && box.y >= 0 && box.y + box.height <= 860;
    };
    expect(await isInWindow()).toBe(true);
    await first.click();
    expect(await button.innerText()).toBe('Approve 1 of 5');
    await page.evaluate('scrollTo(0, document.documentElement.scrollHeight)');
    expect(await isInWindow()).toBe(true);
    // At the end of the page it covers nothing.
    const [comment, bar] = [await page.getByLabel('Comment').boundingBox(), await button.boundingBox()];
    expect((comment?.y ?? 0) + (comment?.height ?? 0)).toBeLessThan(bar?.y ?? 0);
    await tickAll(page, 'Approve', 5);
    await button.click();
    await page.getByText('Your approval of 5 requests is recorded.').waitFor();
  });

  it('keeps everything selected where the service cannot be reached', async () => {
    await makeAgent('cut-bot');
    const ids = await requests('cut-bot', ['job-1', 'job-2']);
    const page = await open(stage.company.sara.key, 1280, [/ERR_FAILED/]);
    await group(page, 'cut-bot').check();
    await page.getByRole('button', { name: 'Approve selected' }).click();
    await tickAll(page, 'Approve', 2);
    await page.route('**/decisions/approve', (route) => route.abort());
    await page.getByRole('button', { name: 'Approve 2 of 2' }).click();
    await page.getByRole('alert').first().waitFor();
    await page.getByText('2 requests selected').waitFor();
    expect(await statuses(ids)).toEqual(['proposed', 'proposed']);
  });

  it('leaves out what is decided alone: what has to be signed, and changes of the rules', async () => {
    await makeAgent('sign-bot', { riskLevel: 'low', approvers: [{ ...SECURITY[0], signed: true }] });
    await makeAgent('plain-bot');
    await requests('sign-bot', ['job-1']);
    await requests('plain-bot', ['job-2', 'job-3', 'job-4']);
    const page = await stage.browser.open(`${stage.company.program.url}/console/inbox`);
    await page.route('**/api/v1/decisions?*', async (route) => {
      const response = await route.fetch();
      const text = await response.text();
      const changed = text
        .replaceAll(/"type":"[^"]*"(?=[^{}]*"title":"[^"]*job-3)/g, '"type":"change"')
        .replaceAll(/"type":"[^"]*"(?=[^{}]*"title":"[^"]*job-4)/g, '"type":"change_review"');
      expect(changed).not.toBe(text);
      await route.fulfill({ response, body: changed });
    });
    await signIn(page, stage.company.sara.key);
    await page.locator('.row', { hasText: 'job-2' }).waitFor();
    await page.getByRole('checkbox', { name: 'Select all 1' }).check();
    await page.getByText('1 request selected').waitFor();
    const boxes = await page.getByRole('checkbox', { name: /^Select .*job-/ }).all();
    expect(boxes).toHaveLength(1);
    expect(await boxes[0]?.getAttribute('aria-label')).toContain('job-2');
  });

  it('can be done with the keyboard alone', async () => {
    await makeAgent('key-bot');
    const ids = await requests('key-bot', ['job-1', 'job-2']);
    const page = await open(stage.company.sara.key);
    await group(page, 'key-bot').waitFor();
    const focusOn = async (label: string): Promise<void> => {
      const focused = 'document.activeElement.ariaLabel ?? document.activeElement.closest("label, button")?.innerText';
      for (let presses = 0; !String(await page.evaluate(focused)).includes(label); presses += 1) {
        expect([label, presses]).not.toEqual([label, 40]);
        await page.keyboard.press('Tab');
      }
    };
    await focusOn('Select all of key-bot');
    await page.keyboard.press('Space');
    await focusOn('Approve selected');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'Approve 2 requests?' }).waitFor();
    await focusOn('Approve request 1');
    // Enter sends nothing from a box.
    await page.keyboard.press('Space');
    await page.keyboard.press('Enter');
    await focusOn('Approve request 2');
    await page.keyboard.press('Space');
    await focusOn('Approve 2 of 2');
    await page.keyboard.press('Enter');
    await page.getByText('Your approval of 2 requests is recorded.').waitFor();
    expect(await page.evaluate('document.activeElement.id')).toBe('main');
    expect(await statuses(ids)).toEqual(['approved', 'approved']);
  });
});
