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
  async function requestApproval(
    name: string,
    riskLevel: string,
    parameters: object,
    approvers: object[],
  ): Promise<string> {
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
    await requestApproval('deploy-bot', 'high', { branch: 'release/7' }, security);
    await requestApproval('mail-bot', 'low', { mailTo: 'all@example.com', text: 'x'.repeat(500) }, security);
    const page = await open('/inbox', stage.company.sara.key);
    const rows = page.getByRole('main').locator('li .row');
    const expectOnlyRow = async (expected: string): Promise<void> => {
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
    await expectOnlyRow('2026-0999');
    await page.getByLabel('Search').fill('');
    await page.getByLabel('Agent').fill('Mail-b');
    await expectOnlyRow('all@example.com');
    await page.getByLabel('Agent').fill('');
    await page.getByLabel('Action').fill('deploy');
    await expectOnlyRow('release/7');
    await page.getByLabel('Risk').selectOption('low');
    await page.getByText('Nothing here matches.').first().waitFor();
    await page.getByLabel('Action').fill('');
    await expectOnlyRow('all@example.com');
  });

  it('finds an agent whose name has something that nobody sees', async () => {
    const name = 'two  spaces';
    await requestApproval(name, 'low', { to: 'be found' }, [{ subjects: ['role:security'] }]);
    const page = await open('/inbox', stage.company.sara.key);
    const rows = page.getByRole('main').locator('li .row');
    await rows.getByText('be found').waitFor();
    await page.getByLabel('Agent').fill(name);
    await page.getByText('Waiting for you 1').waitFor();
    expect(await rows.getByText('be found').count()).toBe(1);
  });

  it.each(['high', 'critical'])('asks once more before it approves what is of %s risk', async (risk) => {
    const { program, sara } = stage.company;
    const decisionId = await requestApproval(`${risk}-bot`, risk, {}, [{ subjects: ['role:security'] }]);
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
    const decisionId = await requestApproval('both-bot', 'low', {}, both);
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
    const decisionId = await requestApproval('other-bot', 'low', {}, [{ subjects: ['role:security'] }]);
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

  it('names those to whom a decision has escalated, and claims nothing about others', async () => {
    const { program, sara } = stage.company;
    const escalate = { after: 'PT1S', subjects: ['role:boss'] };
    await requestApproval('slow-bot', 'low', {}, [{ subjects: ['role:finance'], escalate }]);
    await requestApproval('idle-bot', 'low', {}, [{ subjects: ['role:security'] }]);
    await requestApproval('sign-bot', 'low', {}, [{ subjects: ['role:security'], signed: true }]);
    await send(program, 'POST', '/api/v1/agents/idle-bot/suspend', { body: {} });
    const page = await open('/inbox', sara.key);
    const others = page.getByRole('region', { name: 'Waiting for others' }).locator('.row');
    await others.getByText('needs 1 of the role finance or the role boss').waitFor();
    for (const name of ['slow-bot', 'idle-bot', 'sign-bot']) {
      const row = others.filter({ hasText: `run-${name}` });
      expect(await row.innerText()).toContain('you cannot approve it now: open it to see why');
    }
    await others.filter({ hasText: 'run-idle-bot' }).click();
    await page.getByText('The agent that requested it is suspended, so nobody can approve it now.').waitFor();
  });

  it('shows the gravest risk first, and what the search is about', async () => {
    const security = [{ subjects: ['role:security'] }];
    const names = ['medium-one', 'critical-one', 'high-one', 'medium-two'];
    const risks = ['medium', 'critical', 'high', 'medium'];
    for (const [index, name] of names.entries()) await requestApproval(name, risks[index] ?? '', {}, security);
    const again = { action: 'run-medium-one', resourceType: 'job', resourceId: 'weekly', parameters: {} };
    await send(stage.company.program, 'POST', '/api/v1/agents/medium-one/execute', { body: again });
    for (const width of [1280, 390]) {
      const page = await stage.browser.open(`${stage.company.program.url}/console/inbox`, { width });
      await signIn(page, stage.company.sara.key);
      const mine = page.getByRole('region', { name: 'Waiting for you' });
      await mine.locator('.row', { hasText: 'weekly' }).waitFor();
      const text = await mine.innerText();
      const places = ['critical-one', 'high-one', 'medium-one', 'medium-two'].map((name) =>
        text.indexOf(`run-${name}`),
      );
      expect(places).toEqual([...places].sort((left, right) => left - right));
      const room = await page.evaluate(`(() => {
        const field = document.querySelector('input[type=search]');
        const { font, paddingLeft, paddingRight } = getComputedStyle(field);
        const context = document.createElement('canvas').getContext('2d');
        context.font = font;
        const padding = parseFloat(paddingLeft) + parseFloat(paddingRight);
        return field.clientWidth - padding - context.measureText(field.placeholder).width;
      })()`);
      // The button that clears the field needs the rest.
      expect(room).toBeGreaterThanOrEqual(20);
    }
  });
});
