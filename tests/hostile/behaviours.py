"""The required behaviours of the webhook, by number. A test of one begins with its number: `test_04_…`.

`ELSEWHERE` lists tests of a behaviour in other folders. `NOT_OURS` lists behaviours that do not apply, with
the reason.
"""

from typing import Final

BEHAVIOURS: Final[dict[int, str]] = {
    1: "A review of an object without our annotations is allowed without a patch.",
    2: "The answer repeats uid, apiVersion and kind; another version is refused.",
    3: "patch and patchType are present together, and never from /validate.",
    4: "A review without request, uid or object is refused, and the process survives.",
    5: "DELETE and CONNECT are allowed without a patch.",
    6: "Another Content-Type is refused; a charset is accepted.",
    7: "Other methods and paths are refused and do not count as admission.",
    8: "An encoded body is refused, and never decoded.",
    9: "A body of 7 MiB less one byte is accepted; one byte more is refused by its length, unread.",
    10: "A chunked body is refused as soon as it is too large, and memory stays bounded.",
    11: "The patch, applied by another implementation, has the result of the command.",
    12: "A patch uses add, replace and remove, writes only permitted fields, and always applies.",
    13: "generateName and a missing namespace are accepted.",
    14: "A denial is 422 Invalid, with every cause and its field, in at most 4 KiB.",
    15: "Warnings are ASCII, short and few.",
    16: "Audit annotations have keys and values that the API server accepts.",
    17: "Subresources are not changed.",
    18: "An object that is being deleted is not changed.",
    19: "An expanded object is not expanded again.",
    20: "Processes with other hash seeds, locales and time zones return the same bytes.",
    21: "A patch contains no time and no uid.",
    22: "The order of keys makes no difference; the order of the author's items is kept.",
    23: "Every value of the author is kept, or a message says why it is not.",
    24: "Unknown fields are kept at every depth.",
    25: "Applying a file again client-side has the same result.",
    26: "Applying a file again server-side has the same result.",
    27: "A patch never contains managedFields.",
    28: "On a real cluster, applying the same file again makes no new revision.",
    29: "Webhooks that run before or after ours do not change its result.",
    30: "With Kueue: a queued set is denied with a remedy, as two systems cannot gate one gang.",
    31: "Removing the annotations restores the object.",
    32: "A half reverted object has the same result.",
    33: "A newer release does not change an object whose author did not change it.",
    34: "A record of a newer release is kept, with a warning.",
    35: "All mistakes are reported at once, in a fixed order.",
    36: "An unknown annotation is reported with the nearest known one.",
    37: "An unknown launcher (there are no templates) is reported with the known ones.",
    38: "The webhook opens no connections (there are no templates to fetch), so nothing can leak.",
    39: "No expressions are evaluated; exponential command lines are read in bounded time.",
    40: "Errors that LWS or the engine would report name the author's field.",
    41: "An object without space for the record is denied with the sizes.",
    42: "An unreadable engines file (the only catalogue) prevents the start.",
    43: "Other settings do not change an object whose author did not change it.",
    44: "The command and the webhook report the same.",
    45: "The command needs no cluster, network or credentials.",
    46: "explain names the rule and the cause of every added field.",
    47: "A reference to a Secret stays a reference.",
    48: "The patch gives no pod privileges that its author could not set.",
    49: "Nesting of 100,000 levels is refused at once.",
    50: "Numbers, strings and keys that JSON parsers disagree about have a defined answer.",
    51: "Very many containers or annotations, or a very long key, are answered in time.",
    52: "Every body gets a review or a refusal, and never a 500.",
    53: "No body breaks a log line or leaks a secret.",
    54: "No request adds a series to the metrics.",
    55: "Slow senders block no request, and are cut.",
    56: "Old protocols, ciphers and sessions are refused; handshakes end in time; none is logged.",
    57: "With --client-name only the API server's certificate is accepted; probes need none.",
    58: "Each port serves only its own paths: no admission on the metrics port, and no metrics on the other.",
    59: "Smuggled requests are refused, and the connection is closed.",
    60: "A certificate change under load fails no call.",
    61: "A key written after its certificate fails no handshake.",
    62: "An invalid certificate never replaces a valid one; readiness follows the served one.",
    63: "No call fails while cert-manager renews the serving certificate and the CA.",
    64: "An expired certificate makes the webhook unready, a new one ready again.",
    65: "Old connections survive a rotation, and are replaced within ten minutes.",
    66: "Started without a certificate it is alive but not ready, and ready once there is one.",
    67: "No call fails while every replica is replaced under load.",
    68: "SIGTERM: unready at once, answers with `Connection: close`, open requests finish, exit code 0.",
    69: "Then no connection is accepted; open ones get answers, not 503.",
    70: "If one of two replicas is killed under load, only calls to it fail, and soon none.",
    71: "Node drains keep one replica available, and may evict replicas that are not ready.",
    72: "Without any replica, objects without annotations are admitted, pods restart, deletions work.",
    74: "After a restart of the whole cluster pods restart without the webhook; with it, all continues.",
    75: "It answers and is ready without the API server, as it makes no calls.",
    76: "A request past its caller's deadline is not reviewed.",
    77: "Too many bodies at once get 429 with Retry-After, and the others are answered.",
    78: "A very large object costs a small multiple of parsing it, so others do not wait long.",
    79: "Thousands of requests leak no connections, descriptors or memory (not tried for a day).",
    80: "It runs read-only, without root or capabilities, under restricted pod security.",
    83: "The chart renders the manifests, the same each time, and without generated certificates.",
    84: "The stored webhook configurations equal the manifests.",
    85: "An upgrade and a rollback restart nothing, with dozens of objects.",
    86: "Uninstalling deletes webhook configurations before the webhooks, and leaves nothing; no pod is new.",
    89: "One of several controllers writes; after losing the Lease it writes nothing.",
    90: "If the API server does not answer, a leader stops before the Lease can be taken over.",
    91: "A controller that stops releases the Lease.",
    92: "Whatever happens to a watch, the cache catches up, and the API server is not flooded.",
    93: "A dropped watch resumes without a list.",
    94: "An idle controller writes nothing.",
    96: "The controller makes only requests that its RBAC allows.",
    97: "Each request increments one outcome.",
    98: "An object that is left unchanged gets the reason with a code; without our annotations it gets none.",
    100: "A dry run gets the same answers and stores nothing.",
    102: "Bypassing is one command, for one object or for all, and needs no webhook.",
    103: "Each alert fires in Prometheus' own engine when it should, and not before.",
    104: "Every code has a chapter in the documentation.",
}
NOT_OURS: Final[dict[int, str]] = {
    73: "failurePolicy is Fail everywhere; objects stored without the webhook get a warning of the policy "
    "`backstop` (tests/cluster/test_backstop.py) and are expanded once their author sets `refresh`",
    81: "the chart contains no LeaderWorkerSet; others are written once the webhook is ready",
    82: "failurePolicy is Fail from the start, and matchConditions exclude objects without our annotations",
    87: "the tests build one release of Kubernetes, that of their go.mod",
    88: "one installation per cluster: its cluster-scoped objects have fixed names",
    95: "the controller never expands objects: admission does, on their next write",
    99: "there is no such command; alerts and docs/operations.md list what to check",
    101: "there are no traces: a request is one function call; its uid is in the log and in the audit log",
}

WRITES: Final = "tests/cluster/test_admission_writes.py"
RELEASE: Final = "tests/cluster/test_admission_release.py"
ROLLING: Final = "tests/cluster/test_upgrade_rolling.py"
ANSWERS: Final = "tests/cluster/test_webhook_answers.py"
REPLICAS: Final = "tests/cluster/test_webhook_replicas.py"
HELM: Final = "tests/cluster/test_install_helm.py"
KUSTOMIZE: Final = "tests/cluster/test_install_kustomize.py"
POLICIES: Final = "tests/cluster/test_network_policies.py"
FAULTS: Final = "tests/cluster/test_controller_lease_faults.py"
DOWN: Final = "tests/cluster/test_admission_down.py"
CERT_MANAGER: Final = "tests/cluster/test_certificates_cert_manager.py"
OBJECTS: Final = "tests/manifests/test_objects.py"
LEASE: Final = "tests/sync/runtime/running/test_lease.py"
REFLECTOR: Final = "tests/sync/runtime/running/test_reflector.py"
ELSEWHERE: Final[dict[int, tuple[str, ...]]] = {
    11: ("tests/golden/test_golden.py::test_admission_stores_the_same",),
    19: ("tests/laws/test_laws.py::test_the_law_holds_on_enough_patched_examples",),
    23: ("tests/laws/laws.py::spares",),
    25: ("tests/laws/laws.py::converges",),
    26: ("tests/laws/laws.py::converges",),
    28: (f"{WRITES}::test_the_same_file_three_times_again_makes_no_revision_and_restarts_no_pod",),
    29: (f"{WRITES}::test_a_webhook_that_sorts_after_ours_has_us_called_twice_and_nothing_changes",),
    31: ("tests/laws/laws.py::withdraws",),
    33: (f"{RELEASE}::test_the_first_write_without_a_change_is_allowed_and_restarts_nothing",),
    44: (
        "tests/golden/test_golden.py::test_admission_reports_the_same",
        "tests/golden/test_golden.py::test_every_file_belongs_to_a_case",
    ),
    46: ("tests/fusioninfer/files/test_explain.py::test_each_leaf_of_the_record_is_explained",),
    58: (f"{POLICIES}::test_these_calls_are_let_through_and_no_others",),
    62: (
        "tests/certs/running/test_reload.py::test_an_invalid_pair_does_not_replace_a_valid_one",
        "tests/certs/running/test_reload.py::test_an_error_is_reported_once",
    ),
    63: (
        f"{CERT_MANAGER}::test_no_call_fails_while_the_leaf_is_renewed_again_and_again",
        f"{CERT_MANAGER}::test_no_call_fails_while_the_authority_is_renewed",
    ),
    64: ("tests/certs/running/test_reload.py::test_a_pair_is_valid_until_it_expires",),
    65: (
        "tests/certs/running/test_reload.py::test_a_connection_survives_a_new_pair",
        "tests/webhook/server/test_listen.py::test_an_old_connection_is_asked_to_close",
        "tests/webhook/server/test_listen.py::test_connections_are_replaced_within_ten_minutes",
    ),
    66: (
        "tests/fusioninfer/serving/running/test_admission.py::test_it_becomes_ready_once_there_is_a_certificate",
    ),
    67: (f"{ROLLING}::test_no_write_fails_during_an_upgrade_and_a_rollback",),
    69: (
        f"{ANSWERS}::test_who_does_not_say_so_is_not_asked_again_and_the_write_is_refused",
        "tests/webhook/server/test_app.py::test_after_draining_nothing_is_accepted",
        "tests/webhook/server/test_app.py::test_a_body_that_is_still_arriving_is_awaited",
    ),
    70: (f"{REPLICAS}::test_one_that_is_killed_fails_calls_for_a_moment_only",),
    71: (f"{OBJECTS}::test_one_webhook_replica_is_always_available",),
    72: (
        f"{DOWN}::test_without_annotation_it_is_accepted",
        f"{DOWN}::test_an_annotated_object_can_be_scaled",
        f"{DOWN}::test_a_foreground_deletion_of_an_annotated_object_is_admitted",
    ),
    74: (
        f"{DOWN}::test_after_a_restart_of_everything_pods_come_back_without_the_webhook",
        "tests/cluster/test_isvc_admission_down.py::test_once_it_is_back_everything_is_made",
    ),
    76: ("tests/webhook/server/test_app.py::test_a_request_past_its_deadline_is_not_reviewed",),
    77: (f"{ANSWERS}::test_who_says_when_to_come_again_is_asked_again_then",),
    80: (
        f"{OBJECTS}::test_containers_are_read_only_and_not_root",
        "tests/cluster/test_manifests.py::test_pods_are_accepted_under_restricted_pod_security",
        "tests/cluster/test_deployed.py::test_two_replicas_are_ready",
    ),
    83: (
        "tests/cluster/test_manifests.py::test_the_chart_is_the_overlay_with_self_signed_certificates",
        "tests/hack/test_generated.py::test_the_files_are_up_to_date",
        f"{HELM}::test_stored_objects_equal_the_chart",
        "tests/cluster/test_install_values.py::test_a_rendering_is_the_same_each_time",
    ),
    84: (
        f"{KUSTOMIZE}::test_there_is_no_difference_to_what_was_applied",
        "tests/cluster/test_webhook_stored.py::test_stored_objects_equal_the_manifests",
    ),
    85: (
        f"{RELEASE}::test_write_after_write_restarts_nothing",
        f"{RELEASE}::test_what_was_there_before_stays_on_the_way_back",
        f"{RELEASE}::test_an_expansion_of_the_next_release_stays_after_a_rollback",
        "tests/cluster/test_upgrade_services.py::test_the_next_release_writes_no_existing_object",
    ),
    86: (
        "tests/manifests/test_uninstall.py::test_the_webhook_configurations_are_deleted_before_the_webhooks",
        f"{KUSTOMIZE}::test_the_controller_is_deleted_first",
        f"{KUSTOMIZE}::test_plain_objects_can_be_written_all_the_time",
        f"{KUSTOMIZE}::test_nothing_of_ours_is_left",
        f"{KUSTOMIZE}::test_uninstalling_restarts_nothing_though_the_controller_goes_on",
        f"{HELM}::test_uninstalling_restarts_nothing_though_the_controller_goes_on",
        f"{HELM}::test_nothing_of_ours_is_left",
    ),
    89: (
        "tests/cluster/test_controller_lease.py::test_when_the_leader_is_killed_the_other_one_takes_over",
        f"{FAULTS}::test_two_controllers_never_write_at_once",
        f"{FAULTS}::test_two_controllers_with_wrong_clocks_never_write_at_once",
        f"{LEASE}::test_one_of_many_candidates_works",
        f"{LEASE}::test_after_the_deadline_nothing_may_be_written",
    ),
    90: (
        f"{LEASE}::test_work_ends_before_the_deadline_without_an_answer",
        f"{LEASE}::test_work_ends_before_the_deadline_if_the_answer_is_late",
    ),
    91: (
        f"{LEASE}::test_a_clean_end_releases_the_lease",
        "tests/sync/running/test_process.py::test_a_signal_ends_it_and_releases_the_lease",
    ),
    92: (
        f"{REFLECTOR}::test_a_version_that_is_gone_causes_a_list",
        f"{REFLECTOR}::test_an_error_event_causes_a_list",
        f"{REFLECTOR}::test_a_truncated_line_causes_a_list",
        f"{REFLECTOR}::test_a_refused_watch_is_tried_again",
        f"{REFLECTOR}::test_a_silent_watch_is_ended",
        "tests/cluster/test_controller_news.py::test_objects_are_listed_again_after_the_api_server_lost_its_history",
    ),
    93: (f"{REFLECTOR}::test_a_dropped_watch_causes_no_list",),
    94: ("tests/cluster/test_isvc_drift.py::test_idle_it_writes_nothing",),
    96: ("tests/cluster/test_isvc_rights.py::test_it_uses_all_rights_of_its_manifests_and_no_other",),
    100: (f"{WRITES}::test_a_server_side_dry_run_shows_the_expanded_object",),
    102: (
        f"{DOWN}::test_an_object_that_bypasses_admission_is_stored_as_written",
        f"{KUSTOMIZE}::test_the_bypass_admits_one_object",
    ),
    103: ("tests/cluster/test_alerts.py::test_each_fires_when_it_should_and_is_silent_before",),
    104: ("tests/catalog/test_codes.py::test_every_code_has_a_chapter",),
}
"""Tests in other folders: on the real API server, by laws, on every golden file."""
