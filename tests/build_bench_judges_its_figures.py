"""How the bench judges a figure, which of several tries counts, and what it writes: bench.json, bench.svg, README's table."""
import json, math, re, subprocess, sys, xml.etree.ElementTree
import helper
sys.path.insert(0, str(helper.SOURCE / 'bench'))
import budget, cells, figures, plot, report  # noqa: E402

ROWS = budget.read()


def samples(**medians):
    return {variant: cells.Sample([m, m, m]) for variant, m in medians.items()}


def test_added_cost_is_held_to_its_bound():
    for cost, within in ((160.0, True), (160.5, False), (90.0, True)):
        figure = figures.added('x', 'x', samples(bare=100.0, cuquota=cost), ROWS['newest'])
        assert (figure.added, figure.within) == (cost - 100.0, within)


def test_a_rate_is_that_of_our_own_part():
    figure = figures.rate('x', 'x', samples(bare=60.0, cuquota=20.0), ROWS['rate'])
    assert math.isclose(figure.added, 30.0) and figure.judged == figure.added
    assert figures.rate('x', 'x', samples(bare=60.0, cuquota=20.1), ROWS['rate']).within
    assert not figures.rate('x', 'x', samples(bare=60.0, cuquota=19.9), ROWS['rate']).within


def test_a_rate_above_the_bare_one_is_within_and_no_number():
    for with_it in (60.0, 61.0):
        figure = figures.rate('x', 'x', samples(bare=60.0, cuquota=with_it), ROWS['rate'])
        assert figure.within and report.shown(figure.added) == '> bare'
        assert figure.better(figures.rate('x', 'x', samples(bare=60.0, cuquota=59.0), ROWS['rate'])) is figure
        figure.tries = [figure.judged, 30.0]
        out = json.loads(json.dumps(figure.json(), allow_nan=False))
        assert (out['added'], out['within'], out['tries']) == (None, True, [None, 30.0])
    assert not figures.rate('x', 'x', samples(bare=60.0, cuquota=0.0), ROWS['rate']).within


def test_a_share_is_in_percent_above_bare():
    assert figures.share('x', 'x', samples(bare=100.0, cuquota=104.9), ROWS['start']).within
    assert not figures.share('x', 'x', samples(bare=100.0, cuquota=105.1), ROWS['start']).within


def test_overshoot_is_judged_by_itself():
    for most, within in ((0, True), (1, False)):
        assert figures.Figure('x', 'x', 'bytes', 999, most, budget=ROWS['overshoot']).within == within


def test_no_figure_is_not_within():
    assert not figures.Figure('x', 'x', 'ns', added=math.nan, budget=ROWS['newest_flat']).within
    assert not figures.Figure('x', 'x', 'ns', budget=ROWS['newest']).within
    assert figures.Figure('x', 'x', 'ns', added=1e9).within, 'without a budget nothing can be missed'


def merged(name, values):
    best = None
    for v in values:
        f = figures.Figure('x', 'x', '', cuquota=v, added=v, budget=ROWS[name])
        f.tries = [v]
        best = best.better(f) if best else f
    return best


def test_the_best_try_counts_and_all_are_kept():
    for name, best in (('newest', 50), ('rate', 70), ('worst', 50)):
        f = merged(name, (70, 50, 60))
        assert (f.judged, f.tries) == (best, [70, 50, 60]), name


def test_of_overshoot_the_worst_try_counts():
    f = merged('overshoot', (0, 7, 0))
    assert (f.judged, f.within, f.tries) == (7, False, [0, 7, 0])


def whole():
    """Figures as a whole bench writes them, with made-up numbers."""
    made = {}
    for row in ROWS.values():
        f = figures.Figure(row.name, 'of ' + row.name, row.unit, 10.0, 20.0, 1.0 if row.kind != 'rate' else 99.0, row,
                           samples=samples(bare=10.0, cuquota=20.0))
        if row.kind in figures.OWN:
            f.cuquota = 0.0
        made[row.name] = f
    for n in (0, 1000, 1000000):
        for prefix in ('pair.newest.', 'pair.random.', 'pair.idle.', 'rate.processes.'):
            made[prefix + str(n)] = figures.added(prefix + str(n), 'text <&>', samples(bare=40.0, cuquota=90.0, peer=5e5))
    for f in made.values():
        f.rounds, f.tries = 25, [1.0]
    return {name: f.json() for name, f in made.items()}


def test_json_has_its_shape():
    out = json.loads(json.dumps(whole()))
    for name, f in out.items():
        assert {'bare', 'cuquota', 'added', 'unit', 'budget', 'within'} <= set(f), name
        assert f['within'] is True, (name, f)
    assert out['pair.newest.1000']['added'] == 50.0 and out['pair.newest.1000']['budget'] is None
    bad = figures.added('x', 'x', samples(bare=1.0, cuquota=99.0), ROWS['launch']).json()
    assert (bad['within'], bad['budget'], bad['added'], bad['unit']) == (False, 3, 98.0, 'ns')
    assert json.loads(json.dumps(figures.Figure('x', 'x', '', added=math.nan, budget=ROWS['newest']).json()))['added'] is None


def test_the_picture_is_well_formed_and_shows_each_line():
    for given, lines in ((whole(), 3 + 3 + 3 + 3), ({}, 0)):
        root = xml.etree.ElementTree.fromstring(plot.svg(given))
        drawn = root.findall('{http://www.w3.org/2000/svg}polyline')
        assert root.tag.endswith('svg') and len(drawn) == lines, len(drawn)
        for line in drawn:
            assert all(re.fullmatch(r'\d+\.\d,\d+\.\d', p) for p in line.get('points').split()), line.get('points')


def test_any_words_can_stand_in_the_picture():
    assert xml.etree.ElementTree.fromstring(plot.text(1, 1, 'a <&> b')).text == 'a <&> b'


def table(build, readme):
    return subprocess.run([sys.executable, helper.SOURCE / 'bench/table.py', '--build', build, '--readme', readme],
                          capture_output=True, text=True)


def test_the_table_goes_between_its_markers(tmp_path):
    readme = tmp_path / 'README.md'
    readme.write_text('above\n<!-- figures: bench -->\nold\n<!-- /figures -->\nbelow\n')
    (tmp_path / 'bench.json').write_text(json.dumps(whole()))
    r = table(tmp_path, readme)
    text = readme.read_text()
    assert r.returncode == 0, r.stderr
    assert text.startswith('above\n<!-- figures: bench -->\n') and text.endswith('<!-- /figures -->\nbelow\n') and 'old' not in text
    assert all('| of %s |' % name in text for name in ROWS) and re.search(r'on \d{4}-\d\d-\d\d', text), text


def test_a_part_of_a_bench_is_no_table(tmp_path):
    readme = tmp_path / 'README.md'
    readme.write_text('<!-- figures: bench -->\nold\n<!-- /figures -->\n')
    left_out, quick = whole(), whole()
    del left_out['launch']
    for f in quick.values():
        f['rounds'] = 9
    for given, word in ((left_out, 'kernel launch'), (quick, 'quick')):
        (tmp_path / 'bench.json').write_text(json.dumps(given))
        r = table(tmp_path, readme)
        assert r.returncode == 1 and word in r.stderr and 'old' in readme.read_text(), r.stderr
