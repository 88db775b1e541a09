import { createAgent, createPolicy, issueKey } from '../../support/application/factories';
import { send } from '../../support/application/send';
import { describeInBrowser, type Page, signIn } from '../browser';
import { askToPay, companyStage } from '../company';

const REPORT = '**/api/v1/reports/oversight**';

describeInBrowser("The console's overview", () => {
  const stage = companyStage();
  const tableOf = async (page: Page, name: string): Promise<string[]> =>
    (await page.getByRole('region', { name }).getByRole('row').allInnerTexts()).map((row) => row.replace(/\s+/g, ' '));

  beforeAll(async () => {
    const { company } = stage;
    const { program, finn, sara, bot } = company;
    const { decisionId } = await askToPay(company);
    const path = `/api/v1/decisions/${decisionId}/approve`;
    for (const { key } of [finn, sara]) expect((await send(program, 'POST', path, { key, body: {} })).status).toBe(200);
    await askToPay(company, { invoice: 'another' });
    const refused = { action: 'read-invoice', resourceType: 'invoice', resourceId: '1' };
    const execute = '/api/v1/agents/payment-bot/execute';
    expect((await send(program, 'POST', execute, { key: bot.key, body: refused })).status).toBe(403);
    await createPolicy(program, { name: 'never-used', actions: ['nothing'] });
    const { id } = await createAgent(program, { name: 'newcomer', capabilities: ['*'] });
    const body = { observeUntil: new Date(Date.now() + 86_400_000).toISOString() };
    await send(program, 'PATCH', `/api/v1/agents/${id}`, { key: program.key, body });
  });

  it('is what the console opens with for who may audit, and the inbox for others', async () => {
    const { program, finn, sara } = stage.company;
    for (const [{ key }, name] of [
      [sara, 'Overview'],
      [finn, 'Inbox'],
    ] as const) {
      const page = await stage.browser.open(`${program.url}/console`);
      await signIn(page, key);
      await page.getByRole('heading', { level: 1, name }).waitFor();
    }
  });

  it('shows what to look at first, then charts with their tables, each leading to the list behind it', async () => {
    const { program } = stage.company;
    const page = await stage.browser.open(`${program.url}/console`);
    await signIn(page, program.key);
    const matters = page.getByRole('region', { name: 'First of all' }).getByRole('link');
    await matters.first().waitFor();
    const matterTexts = (await matters.allInnerTexts()).map((text) => text.replace(/\s+/g, ' '));
    const expected = [
      /1 decision waits for somebody EU AI Act Art. 14.* AISVS 9.2/,
      /Refused most: no policy allows, 1 of 1 refusal/,
      /(finn|sara) decided 1 of 1 within ten seconds/,
      /Observed: newcomer/,
      /Access never reviewed, or changed since: newcomer/,
      /2 policies in force decided nothing: bot-may-pay and never-used/,
      /Nothing is stopped/,
    ];
    for (const [index, pattern] of expected.entries()) expect(matterTexts[index]).toMatch(pattern);
    await page.getByRole('img', { name: /2 needed approval, 1 denied/ }).waitFor();
    await page.getByText('As a table').click();
    expect((await tableOf(page, 'Requests over time')).at(-1)).toMatch(/ 0 2 1 0 0 0$/);
    expect(await tableOf(page, 'Verdicts by reviewer')).toEqual(expect.arrayContaining(['finn 1 0 1', 'sara 1 0 1']));
    expect(await tableOf(page, 'Requests by agent')).toContain('payment-bot 0 2 1');
    await page.getByRole('link', { name: 'Each refusal' }).click();
    await page.getByRole('heading', { level: 1, name: 'Activity' }).waitFor();
    expect(await page.getByLabel('What').inputValue()).toBe('execution.denied');
    await page.getByRole('listitem').filter({ hasText: 'no policy allows' }).waitFor();
    await page.goBack();
    await page.getByRole('region', { name: 'Verdicts by reviewer' }).getByRole('link', { name: 'finn' }).click();
    expect(await page.getByRole('combobox', { name: 'Agent' }).inputValue()).toBe('finn');
    await page.getByRole('listitem').filter({ hasText: 'by finn' }).first().waitFor();
    expect(stage.browser.takeFaults()).toEqual([]);
  });

  it('is about the period that is chosen, which the address keeps', async () => {
    const { program, sara } = stage.company;
    const page = await stage.browser.open(`${program.url}/console/overview`, { expected: [/status of 400/] });
    await signIn(page, sara.key);
    const queryAfter = async (act: () => Promise<unknown>): Promise<URLSearchParams> => {
      const request = page.waitForRequest(REPORT);
      await act();
      return new URL((await request).url()).searchParams;
    };
    const period = page.getByRole('combobox', { name: 'Period' });
    await page.getByRole('region', { name: 'First of all' }).waitFor();
    const day = await queryAfter(() => period.selectOption('Last 24 hours'));
    expect([day.get('bucket'), day.get('to')]).toEqual(['hour', null]);
    await queryAfter(() => period.selectOption('Own'));
    await queryAfter(() => page.getByLabel('First day').fill('2026-02-01'));
    const own = await queryAfter(() => page.getByLabel('Last day').fill('2026-02-28'));
    expect(Object.fromEntries(own)).toEqual({ from: '2026-02-01', to: '2026-03-01T00:00:00.000Z', bucket: 'day' });
    expect(page.url()).toContain('?from=2026-02-01&to=2026-02-28');
    await page.getByText('Nothing was refused', { exact: true }).waitFor();
    await queryAfter(() => page.getByLabel('First day').fill('2026-03-05'));
    await page
      .getByRole('alert')
      .getByText(/must not be later than to/)
      .waitFor();
    stage.browser.takeFaults();
  });

  it('drafts the removal of a policy that decided nothing, and says what that would mean', async () => {
    const { program } = stage.company;
    await createPolicy(program, { name: 'never-tried', effect: 'deny', actions: ['wipe'] });
    const page = await stage.browser.open(`${program.url}/console/overview`);
    await signIn(page, program.key);
    await page.getByRole('button', { name: 'Draft its removal: never-tried 1.0' }).click();
    await page.getByText('It holds agents back: without it, they may be allowed more.').waitFor();
    await page.getByRole('button', { name: 'Keep' }).click();
    await page.getByRole('button', { name: 'Draft its removal: never-used 1.0' }).click();
    await page.getByText('Agents lose what only it allows.').waitFor();
    await page.getByRole('button', { name: 'Take it out of force' }).click();
    await page.getByRole('link', { name: 'never-used 1.0' }).waitFor({ state: 'detached' });
    const { body } = await send(program, 'GET', '/api/v1/policies?name=never-used', { key: program.key });
    expect(body.data[0].status).toBe('inactive');
  });

  it('fits the paper whatever the screen looks like', async () => {
    const { program, sara } = stage.company;
    const page = await stage.browser.open(`${program.url}/console/overview`, { dark: true });
    await signIn(page, sara.key);
    await page.getByRole('img', { name: /^Requests over time/ }).waitFor();
    await page.setViewportSize({ width: 690, height: 1000 });
    await page.emulateMedia({ media: 'print' });
    await page.evaluate("dispatchEvent(new Event('beforeprint'))");
    expect(await page.getByRole('region', { name: 'Requests over time' }).isVisible()).toBe(true);
    expect(await page.getByRole('navigation').count()).toBe(0);
    const measured = 'document.documentElement.scrollWidth - document.documentElement.clientWidth';
    expect(await page.evaluate(measured)).toBe(0);
    expect(await page.evaluate('getComputedStyle(document.body).backgroundColor')).toBe('rgb(246, 247, 249)');
  });

  it('does not grow while it is left open', async () => {
    const { program } = stage.company;
    const { secret } = await issueKey(program, { name: 'watching', scopes: ['audit', 'read'] });
    const page = await stage.browser.open(`${program.url}/console/overview`);
    await page.clock.install();
    await page.reload();
    await signIn(page, secret);
    await page.getByRole('img', { name: /^Requests over time/ }).waitFor();
    const nodes = (): Promise<number> => page.evaluate("document.querySelectorAll('*').length");
    const before = await nodes();
    for (let minute = 0; minute < 20; minute += 1) {
      const answer = page.waitForResponse(REPORT);
      await page.clock.runFor(61_000);
      await answer;
    }
    expect(await nodes()).toBe(before);
  });
});
