"""What a webhook must show, from outside. A test that shows one begins with its number: `test_04_…`.

Where a behaviour is shown elsewhere too, `ELSEWHERE` says where; what a webhook might show and ours does not
is in `NOT_OURS`, with the reason.
"""

from typing import Final

BEHAVIOURS: Final[dict[int, str]] = {
    1: "A review of an object without our annotations is allowed without a patch.",
    2: "uid, apiVersion and kind come back as they were; another version is refused.",
    3: "There is a patch exactly where there is a patchType, and never from /validate.",
    4: "A review without request, uid or object is refused, and the process lives on.",
    5: "DELETE and CONNECT are allowed without a patch.",
    6: "Another Content-Type is refused; a charset is accepted.",
    7: "Other methods and paths are refused and do not count as admission.",
    8: "An encoded body is refused, and never decoded.",
    9: "A body of 7 MiB less one byte is accepted; one byte more is refused by its length, unread.",
    10: "A chunked body is refused as soon as it is too large, and memory stays bounded.",
    11: "The patch, applied by another's implementation, gives what the command writes.",
    12: "A patch has three operations, writes only what is ours to write, and always applies.",
    13: "generateName, and no namespace, are in order.",
    14: "A denial is 422 Invalid, with every cause and its field, in 4 KiB.",
    15: "Warnings are plain, short and few.",
    16: "The audit log is told, by keys and values that it accepts.",
    17: "A review of a subresource is left alone.",
    18: "An object that is being deleted is left alone.",
    19: "What is expanded is not expanded again.",
    20: "Processes with other hash seeds, locales and time zones answer the same bytes.",
    21: "No time and no uid is in the patch.",
    22: "The order of keys makes no difference; the order of the author's items stays.",
    23: "Every value of the author's survives, or somebody says why it does not.",
    24: "Fields that nobody knows survive at every depth.",
    25: "A file applied again by client-side apply ends in the same object.",
    26: "A file applied again by server-side apply ends in the same object.",
    27: "managedFields are never in a patch.",
    28: "On a real cluster the same file again makes no new revision.",
    29: "Other webhooks, before or after ours, change nothing of what we do.",
    30: "Beside Kueue: a set that Kueue queues is refused with a remedy, as two cannot gate one gang.",
    31: "Without the annotation the object is again what it was.",
    32: "From a half reverted object the same fixed point is reached.",
    33: "A newer release changes nothing of an object whose author changed nothing.",
    34: "A record of a newer release is left alone, and told.",
    35: "All mistakes are told at once, in one order.",
    36: "An unknown annotation of ours is told with the nearest one there is.",
    37: "An unknown launcher (we have no templates) is told with those there are.",
    38: "Nothing is looked up (we have no templates): no connection goes out, so nothing can leak.",
    39: "There are no expressions to evaluate; lines made to blow up are read in bounded time.",
    40: "What LWS or the engine would refuse is told by the author's field.",
    41: "What has no room is denied with its sizes.",
    42: "Facts about engines (our only catalogue) that cannot be read end the start.",
    43: "Other settings change nothing of an object whose author changed nothing.",
    44: "Command and webhook say the same.",
    45: "The command needs no cluster, network or credentials.",
    46: "explain names the rule and the cause of every leaf that was added.",
    47: "A reference to a Secret stays a reference.",
    48: "What is added gives no pod a right that its author could not have.",
    49: "Nesting of 100,000 levels is refused at once.",
    50: "Numbers, strings and keys that JSON parsers disagree about have a defined answer.",
    51: "Very many containers or annotations, or a very long key, have an answer in time.",
    52: "Whatever is sent, the answer is a review or a refusal, and never our bug.",
    53: "Nothing that is sent breaks a log line, and no secret gets out.",
    54: "Nothing that is sent adds a series to the metrics.",
    55: "Slow senders stop nobody, and are cut.",
    56: "Old protocols, ciphers and sessions are refused; handshakes end in time; nothing of it is an error.",
    57: "With client certificates, only the API server's is answered; probes still are.",
    58: "Each port shows its own only: no reviews on the plain one, no metrics on the other.",
    59: "Smuggled requests are refused, and the connection ends.",
    60: "Certificates that change under load fail no call.",
    61: "A key that comes later than its certificate fails no handshake.",
    62: "A certificate that is no good never replaces one that is; readiness follows the one that is served.",
    63: "While cert-manager renews leaf and authority no call fails.",
    64: "A certificate whose time is over makes it unready, a new one ready again, whatever the clock does.",
    65: "Old connections go on after a rotation, and are renewed within ten minutes.",
    66: "Without a certificate at the start it is alive and not ready, and ready when one comes.",
    67: "While every replica is replaced under load no call fails.",
    68: "SIGTERM: unready at once, answers with `Connection: close`, what has begun ends, exit code 0.",
    69: "After that nothing is accepted; who is connected is answered, not sent away with 503.",
    70: "Of two replicas one is killed under load: only calls to that one fail, and soon none.",
    71: "The manifests keep one replica when nodes are drained, and let go of those that are not ready.",
    72: "With every replica gone, what is not annotated is admitted, pods come back, deletions go through.",
    74: "After a restart of the whole cluster without the webhook its pods come back; with it all goes on.",
    75: "Without an API server it answers and is ready: it asks nobody.",
    76: "A review that the caller waits for no longer is not made.",
    77: "Too many bodies at once: told to come again, and the others are answered.",
    78: "A very large object costs a few times its parsing, so nobody waits for long behind it.",
    79: "Thousands of requests leave no connection, descriptor or memory behind (not tried for a day).",
    80: "It runs where nothing can be written, without root or capabilities, under restricted pod security.",
    83: "The chart renders the manifests: nothing is looked up, and no certificate is made.",
    84: "What the API server stores of the webhook configurations is what the manifests say.",
    85: "An upgrade and the way back restart nothing, with dozens of objects.",
    86: "Uninstalling takes the webhooks before what answers them, and leaves nothing; what runs goes on.",
    89: "Of several loops one writes; who lost the Lease writes nothing.",
    90: "Where nobody answers, work ends before the Lease can be taken.",
    91: "A loop that ends gives the Lease back.",
    92: "Whatever becomes of a watch, the cache follows what there is, and the API server is not flooded.",
    93: "A watch that was dropped goes on where it was, without a list.",
    94: "The idle loop writes nothing.",
    96: "The loop asks for what it may, and for nothing else.",
    97: "Each request adds one to one outcome.",
    98: "Who is left alone is told why, by a code of the table; who did not ask us is told nothing.",
    100: "A dry run gets the same answers, and stores nothing.",
    102: "Breaking the glass is one command, for one object or for all, and needs no webhook.",
    103: "Each alert fires in Prometheus' own engine for what it is for, and is silent before.",
    104: "Every code has its chapter.",
}
NOT_OURS: Final[dict[int, str]] = {
    73: "failurePolicy is Fail everywhere; what was stored while there was no webhook is told by the policy "
    "`backstop` (tests/cluster/test_backstop.py) and expanded once its author sets `refresh`",
    81: "the chart holds no LeaderWorkerSet; others are written once the webhook is ready",
    82: "nothing is promoted from Ignore to Fail: it is Fail from the start, and matchConditions leave out "
    "whatever carries no annotation of ours",
    87: "one release of Kubernetes is built for the tests, the one that its go.mod names",
    88: "one installation a cluster: its objects of the cluster have fixed names, so a second is the first",
    95: "the loop never expands: admission does, once the author writes the object again",
    99: "there is no such command; alerts and docs/operations.md say what to look at",
    101: "no spans are made: a review is one call of a function; its uid is in the log and in the audit log",
}

WRITES: Final = "tests/cluster/test_admission_writes.py"
RELEASE: Final = "tests/cluster/test_admission_release.py"
ROLLING: Final = "tests/cluster/test_upgrade_rolling.py"
ANSWERS: Final = "tests/cluster/test_webhook_answers.py"
REPLICAS: Final = "tests/cluster/test_webhook_replicas.py"
HELM: Final = "tests/cluster/test_install_helm.py"
KUSTOMIZE: Final = "tests/cluster/test_install_kustomize.py"
POLICIES: Final = "tests/cluster/test_network_policies.py"
FAULTS: Final = "tests/cluster/test_loop_lease_faults.py"
DOWN: Final = "tests/cluster/test_admission_down.py"
CERT_MANAGER: Final = "tests/cluster/test_certificates_cert_manager.py"
OBJECTS: Final = "tests/manifests/test_objects.py"
LEASE: Final = "tests/sync/runtime/test_lease.py"
REFLECTOR: Final = "tests/sync/runtime/test_reflector.py"
ELSEWHERE: Final[dict[int, tuple[str, ...]]] = {
    11: ("tests/golden/test_golden.py::test_the_webhook_gives_the_same_object",),
    19: ("tests/laws/test_laws.py::test_the_law_holds_on_enough_patched_examples",),
    23: ("tests/laws/laws.py::spares",),
    25: ("tests/laws/laws.py::converges",),
    26: ("tests/laws/laws.py::converges",),
    28: (
        f"{WRITES}::test_the_same_file_three_times_again_makes_no_revision_and_restarts_no_pod",
        f"{WRITES}::test_the_same_file_three_times_again_makes_as_many_generations_as_without_annotation",
    ),
    29: (
        f"{WRITES}::test_a_webhook_that_sorts_after_ours_has_us_called_twice",
        f"{WRITES}::test_a_second_call_changes_nothing",
    ),
    31: ("tests/laws/laws.py::withdraws",),
    33: (f"{RELEASE}::test_the_first_write_of_what_nobody_changed_is_allowed_and_restarts_nothing",),
    44: (
        "tests/golden/test_golden.py::test_the_webhook_reports_the_same_findings",
        "tests/golden/test_golden.py::test_no_file_is_stale",
    ),
    46: ("tests/fusioninfer/test_explain.py::test_each_leaf_of_the_record_is_explained",),
    58: (
        f"{POLICIES}::test_this_call_is_let_through",
        f"{POLICIES}::test_no_other_call_is_let_through",
    ),
    62: (
        "tests/certs/test_reload.py::test_a_broken_pair_does_not_replace_a_sound_one",
        "tests/certs/test_reload.py::test_what_is_wrong_is_said_once",
    ),
    63: (
        f"{CERT_MANAGER}::test_no_call_fails_while_the_leaf_is_renewed_again_and_again",
        f"{CERT_MANAGER}::test_no_call_fails_while_the_authority_is_renewed",
    ),
    64: ("tests/certs/test_reload.py::test_a_pair_is_valid_until_its_end_and_no_longer",),
    65: (
        "tests/certs/test_reload.py::test_a_connection_outlives_the_pair_it_began_with",
        "tests/webhook/server/test_listen.py::test_an_old_connection_is_asked_to_close",
        "tests/webhook/server/test_listen.py::test_connections_are_renewed_within_ten_minutes",
    ),
    66: ("tests/fusioninfer/test_serve.py::test_it_becomes_ready_when_the_certificate_comes",),
    67: (
        f"{REPLICAS}::test_no_call_fails_while_every_replica_is_replaced",
        f"{ROLLING}::test_no_write_fails_while_the_next_release_takes_over_and_while_it_goes_back",
    ),
    69: (
        f"{ANSWERS}::test_who_does_not_say_so_is_not_asked_again_and_the_write_is_refused",
        "tests/webhook/server/test_app.py::test_after_draining_nothing_is_accepted",
        "tests/webhook/server/test_app.py::test_a_body_on_its_way_is_awaited_at_the_end",
    ),
    70: (f"{REPLICAS}::test_one_that_is_killed_fails_calls_for_a_moment_only",),
    71: (f"{OBJECTS}::test_one_webhook_always_answers",),
    72: (
        f"{DOWN}::test_without_annotation_it_is_accepted",
        f"{DOWN}::test_what_is_annotated_can_be_scaled",
        f"{DOWN}::test_a_foreground_deletion_of_an_annotated_one_goes_through",
    ),
    74: (
        f"{DOWN}::test_after_a_restart_of_everything_pods_come_back_without_the_webhook",
        "tests/cluster/test_isvc_admission_down.py::test_once_it_is_back_everything_is_made",
    ),
    76: ("tests/webhook/server/test_app.py::test_a_review_that_comes_after_its_deadline_is_not_made",),
    77: (f"{ANSWERS}::test_who_says_when_to_come_again_is_asked_again_then",),
    80: (
        f"{OBJECTS}::test_nothing_can_be_written_and_nobody_is_root",
        "tests/cluster/test_manifests.py::test_pods_are_taken_where_pod_security_is_restricted",
        "tests/cluster/test_deployed.py::test_two_replicas_are_ready",
    ),
    83: (
        "tests/cluster/test_manifests.py::test_the_chart_is_the_overlay_of_cert_manager",
        "tests/manifests/test_chart.py::test_the_chart_is_made_from_the_manifests",
        f"{HELM}::test_what_is_stored_is_what_the_chart_says",
    ),
    84: (
        f"{KUSTOMIZE}::test_there_is_no_difference_to_what_was_applied",
        "tests/cluster/test_webhook_stored.py::test_what_is_stored_is_what_the_manifests_say",
    ),
    85: (
        f"{RELEASE}::test_write_after_write_restarts_nothing",
        f"{RELEASE}::test_what_was_there_before_stays_on_the_way_back",
        f"{RELEASE}::test_what_the_next_release_expanded_stays_on_the_way_back",
        "tests/cluster/test_upgrade_services.py::test_the_next_release_writes_nothing_of_what_is_there",
    ),
    86: (
        "tests/manifests/test_pages.py::test_the_webhooks_go_before_what_answers_them",
        f"{KUSTOMIZE}::test_work_is_accepted_after_each_command",
        f"{KUSTOMIZE}::test_nothing_of_ours_is_left",
        f"{KUSTOMIZE}::test_what_ran_goes_on",
        f"{HELM}::test_nothing_of_ours_is_left",
    ),
    89: (
        "tests/cluster/test_loop_lease.py::test_one_of_two_loops_works",
        f"{FAULTS}::test_never_two_write",
        f"{FAULTS}::test_nor_do_they_if_clocks_are_wrong",
        f"{LEASE}::test_of_many_candidates_one_works",
        f"{LEASE}::test_after_the_deadline_nothing_may_be_written",
    ),
    90: (
        f"{LEASE}::test_work_ends_before_the_deadline_if_nobody_answers",
        f"{LEASE}::test_work_ends_before_the_deadline_if_the_answer_is_late",
    ),
    91: (
        f"{LEASE}::test_a_clean_end_gives_the_lease_back",
        "tests/sync/test_process.py::test_a_signal_ends_it_and_gives_the_lease_back",
    ),
    92: (
        f"{REFLECTOR}::test_a_version_that_is_gone_is_listed_again",
        f"{REFLECTOR}::test_an_error_event_lists_again",
        f"{REFLECTOR}::test_a_truncated_line_is_read_again",
        f"{REFLECTOR}::test_a_refused_watch_is_tried_again",
        f"{REFLECTOR}::test_a_silent_watch_is_given_up",
        "tests/cluster/test_loop_news.py::test_what_changed_while_its_connections_were_cut_is_followed",
    ),
    93: (f"{REFLECTOR}::test_a_dropped_watch_does_not_list_again",),
    94: ("tests/cluster/test_loop_idle.py::test_idle_it_writes_nothing",),
    96: ("tests/cluster/test_loop_rights.py::test_it_asks_for_what_it_was_granted_and_nothing_else",),
    100: (
        f"{WRITES}::test_a_server_side_dry_run_shows_what_would_be_stored",
        f"{WRITES}::test_a_server_side_dry_run_stores_nothing",
    ),
    102: (
        f"{DOWN}::test_with_the_glass_broken_it_is_accepted_as_it_was_written",
        f"{KUSTOMIZE}::test_broken_glass_lets_one_object_pass",
    ),
    103: (
        "tests/cluster/test_alerts.py::test_it_fires",
        "tests/cluster/test_alerts.py::test_it_is_silent_before",
    ),
    104: ("tests/catalog/test_codes.py::test_every_code_has_a_chapter",),
}
"""Shown elsewhere, alone or beside a test here: on the real API server, by laws, on every golden file."""
