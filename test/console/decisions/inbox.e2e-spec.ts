import { createAgent, createPolicy, issueKey } from '../../support/application/factories';
import { send } from '../../support/application/send';
import { describeInBrowser, type Page, signIn } from '../browser';
import { askToPay, companyStage } from '../company';

describeInBrowser('The inbox of the console', () => {
  const stage = companyStage();

  async function open(path: string, key: string): Promise<Page> {
    const page = await stage.browser.open(`${stage.company.program.url}/console${path}`);
    await signIn(page, key);
    return page;
  }

  /** An agent whose work needs an approval of this risk, and what it asks for. */
  async function asked(name: string, riskLevel: string, parameters: object, approvers: object[]): Promise<string> {
    const { program } = stage.company;
    await createAgent(program, { name, capabilities: [`run-${name}`] });
    const approval = { riskLevel, approvers };
    await createPolicy(program, { name, effect: 'require_approval', actions: [`run-${name}`], approval });
    const body = { action: `run-${name}`, resourceType: 'job', resourceId: 'nightly', parameters };
    const answer = await send(program, 'POST', `/api/v1/agents/${name}/execute`, { body });
    expect(answer.status).toBe(202);
    return answer.body.decisionId;
  }

  it('shows arguments in its rows, and finds by text, agent, action and risk as these are typed', async () => {
    const security = [{ subjects: ['role:security'] }];
    await askToPay(stage.company, { invoice: '2026-0999' });
    await asked('deploy-bot', 'high', { branch: 'release/7' }, security);
    await asked('mail-bot', 'low', { mailTo: 'all@example.com', text: 'x'.repeat(500) }, security);
    const page = await open('/inbox', stage.company.sara.key);
    const rows = page.getByRole('main').locator('li .row');
    const shown = async (expected: string): Promise<void> => {
      await page.getByText(expected).first().waitFor();
      expect(await rows.count()).toBe(1);
      expect(await rows.first().innerText()).toContain(expected);
    };
    // Arguments are read after the rows.
    for (const argument of ['"2026-0999"', '"release/7"', 'all@example.com'])
      await rows.getByText(argument).first().waitFor();
    const texts = await rows.allInnerTexts();
    expect(texts.join('\n')).toContain('{"branch":"release/7"}');
    expect(texts.join('\n')).toMatch(/all@example\.com.*… \(open it to see all\)/);
    await page.getByLabel('Search').fill('2026-0999');
    await shown('2026-0999');
    await page.getByLabel('Search').fill('');
    await page.getByLabel('Agent').fill('Mail-b');
    await shown('all@example.com');
    await page.getByLabel('Agent').fill('');
    await page.getByLabel('Action').fill('deploy');
    await shown('release/7');
    await page.getByLabel('Risk').selectOption('low');
    await page.getByText('Nothing here matches.').first().waitFor();
    await page.getByLabel('Action').fill('');
    await shown('all@example.com');
  });

  it('finds an agent whose name has something that nobody sees', async () => {
    const name = 'two  spaces';
    await asked(name, 'low', { to: 'be found' }, [{ subjects: ['role:security'] }]);
    const page = await open('/inbox', stage.company.sara.key);
    const rows = page.getByRole('main').locator('li .row');
    await rows.getByText('be found').waitFor();
    await page.getByLabel('Agent').fill(name);
    await page.getByText('Waiting for you 1').waitFor();
    expect(await rows.getByText('be found').count()).toBe(1);
  });

  it.each(['high', 'critical'])('asks once more before it approves what is of %s risk', async (risk) => {
    const { program, sara } = stage.company;
    const decisionId = await asked(`${risk}-bot`, risk, {}, [{ subjects: ['role:security'] }]);
    const page = await open(`/decisions/${decisionId}`, sara.key);
    await page.locator('button:enabled', { hasText: 'Approve' }).dblclick();
    const again = page.getByRole('button', { name: `Approve it, at ${risk} risk` });
    await again.waitFor();
    const path = `/api/v1/decisions/${decisionId}`;
    expect((await send(program, 'GET', path)).body.reviews).toEqual([]);
    // What would be right goes with a rejection.
    await page.getByRole('button', { name: 'Say what would be right' }).click();
    expect(await again.isDisabled()).toBe(true);
    await page.getByRole('button', { name: 'Leave it out' }).click();
    await page.getByRole('button', { name: 'Not yet' }).click();
    await page.locator('button:enabled', { hasText: 'Approve' }).click();
    await again.click();
    await page.getByText('It was approved.').waitFor();
    expect((await send(program, 'GET', path)).body.status).toBe('approved');
  });

  it('says that two different people are needed where one has both roles', async () => {
    const { program } = stage.company;
    const both = [{ subjects: ['role:security'] }, { subjects: ['role:finance'] }];
    const decisionId = await asked('both-bot', 'low', {}, both);
    const agent = await createAgent(program, { name: 'dora', kind: 'human', roles: ['security', 'finance'] });
    const { secret } = await issueKey(program, { name: 'dora', scopes: ['read', 'review'], agentId: agent.id });
    const page = await open(`/decisions/${decisionId}`, secret);
    await page.locator('button:enabled', { hasText: 'Approve' }).click();
    const missing = 'needs 1 of the role security and 1 of the role finance, by two different people';
    await page.getByText(`Your review is recorded. The decision still ${missing}.`).waitFor();
    await page.getByText('It takes two different people: who fits several of these counts once.').waitFor();
    await page.getByRole('link', { name: '← Inbox' }).click();
    await page.getByText(missing).waitFor();
  });

  it('tells a machine that machines never count', async () => {
    const { program } = stage.company;
    const decisionId = await asked('other-bot', 'low', {}, [{ subjects: ['role:security'] }]);
    const machine = await createAgent(program, { name: 'robo-sara', roles: ['security'] });
    const issued = { name: 'robo', scopes: ['read', 'review'], agentId: machine.id };
    const { secret } = await issueKey(program, issued);
    const page = await open(`/decisions/${decisionId}`, secret);
    await page.getByText('machines never count').waitFor();
    const path = `/api/v1/decisions/${decisionId}/approve`;
    const refused = await send(program, 'POST', path, { key: secret, body: {} });
    expect([refused.status, refused.body.error.message]).toEqual([
      403,
      expect.stringContaining('Machines never count'),
    ]);
  });

  describe('has what waits of one run as one list', () => {
    const NOTE = 'x'.repeat(3000);

    /** Asks for three jobs of a run, and for one of another run. Returns the decisions of the three. */
    async function askedInRun(name: string, riskLevel = 'low'): Promise<string[]> {
      const { program } = stage.company;
      await createAgent(program, { name, capabilities: [`run-${name}`] });
      const approval = { riskLevel, approvers: [{ subjects: ['role:security'] }] };
      await createPolicy(program, { name, effect: 'require_approval', actions: [`run-${name}`], approval });
      const ids: string[] = [];
      const onBehalfOf = { subject: `agent:${stage.company.finn.id}` };
      for (const [run, job] of [
        ['night', 1],
        ['night', 2],
        ['night', 3],
        ['day', 4],
      ]) {
        const parameters = { job, ...(job === 2 && { note: NOTE }) };
        const asked = { action: `run-${name}`, resourceType: 'job', resourceId: `job-${job}`, parameters, run };
        const body = { ...asked, onBehalfOf: job === 1 ? onBehalfOf : { subject: 'user:eva', roles: ['vip'] } };
        ids.push((await send(program, 'POST', `/api/v1/agents/${name}/execute`, { body })).body.decisionId);
      }
      return ids.slice(0, 3);
    }

    const statusesOf = (ids: readonly string[]): Promise<string[]> =>
      Promise.all(
        ids.map(async (id) => (await send(stage.company.program, 'GET', `/api/v1/decisions/${id}`)).body.status),
      );

    it('whole, and approves it as one', async () => {
      const ids = await askedInRun('clerk-bot', 'high');
      const page = await open('/inbox', stage.company.sara.key);
      const list = page.getByRole('region', { name: '3 requests of clerk-bot in the run night' });
      const approve = list.getByRole('button', { name: 'Approve all 3' });
      await list.getByText('You can approve them once everything is on screen: Arguments of run-clerk-bot').waitFor();
      expect(await approve.isDisabled()).toBe(true);
      await list.getByRole('button', { name: /^Show all of it/ }).click();
      await list.getByText(NOTE).waitFor();
      expect(await list.getByText('job-4').count()).toBe(0);
      await list
        .locator('li', { hasText: 'job-1' })
        .getByText(/ on behalf of finn$/)
        .waitFor();
      await list
        .locator('li', { hasText: 'job-2' })
        .getByText(/ on behalf of user:eva, with the role vip$/)
        .waitFor();
      await list.getByLabel('Comment').fill('The jobs of tonight.');
      // At this risk a press alone does nothing.
      await approve.click();
      expect(await statusesOf(ids)).toEqual(['proposed', 'proposed', 'proposed']);
      await list.getByLabel('Including what is of high risk').check();
      // What is asked for meanwhile is not approved unseen.
      const body = { action: 'run-clerk-bot', resourceType: 'job', resourceId: 'job-5', parameters: {}, run: 'night' };
      await send(stage.company.program, 'POST', '/api/v1/agents/clerk-bot/execute', { body });
      await page.getByRole('button', { name: 'Show 1 more of this run' }).waitFor();
      await page.getByRole('button', { name: 'Approve all 3' }).click();
      await page.getByText('Your approval of 3 requests is recorded.').waitFor();
      expect(await statusesOf(ids)).toEqual(['approved', 'approved', 'approved']);
      await page.locator('li .row', { hasText: 'job-5' }).waitFor();
      const { body: first } = await send(stage.company.program, 'GET', `/api/v1/decisions/${ids[0]}`);
      expect(first.reviews).toMatchObject([{ comment: 'The jobs of tonight.' }]);
    });

    it('or nothing of it, and says why, where one has changed meanwhile', async () => {
      const { program, sara } = stage.company;
      const ids = await askedInRun('porter-bot');
      const page = await stage.browser.open(`${program.url}/console/inbox`, { expected: [/status of 409/] });
      await signIn(page, sara.key);
      await page.route('**/decisions/approve', async (route) => {
        await send(program, 'POST', `/api/v1/decisions/${ids[1]}/reject`, { body: {} });
        await route.continue();
      });
      const list = page.getByRole('region', { name: '3 requests of porter-bot in the run night' });
      await list.getByRole('button', { name: /^Show all of it/ }).click();
      await list.getByRole('button', { name: 'Approve all 3' }).click();
      await page.getByText('Nothing was approved.').waitFor();
      await page.getByRole('alert').filter({ hasText: 'The decision is rejected already' }).waitFor();
      await page.getByRole('region', { name: '2 requests of porter-bot in the run night' }).waitFor();
      expect(await statusesOf(ids)).toEqual(['proposed', 'rejected', 'proposed']);
    });
  });
});
