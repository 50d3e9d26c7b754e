// SPDX-License-Identifier: BSD-2-Clause
#include "ctffields.h"

#include <string.h>

#include "ctflibrary.h"

/* A field by name; of whose payload, by its event's name. */
struct known {
	const char *name;
	const char *event; /* NULL: of a context; "a*": all that begin with a */

	enum {
		NUMBER,
		TEXT,
		LIST
	} kind;

	unsigned int index;
};

static const struct known table[] = {
	{ "pid", NULL, NUMBER, CTF_PID },
	{ "tid", NULL, NUMBER, CTF_TID },
	{ "procname", NULL, TEXT, CTF_COMM },
	{ "callstack_user", NULL, LIST, CTF_USER_STACK },
	{ "callstack_user_unwind", NULL, LIST, CTF_USER_STACK },
	{ "pid", "kunwind_callstack", NUMBER, CTF_PID },
	{ "tid", "kunwind_callstack", NUMBER, CTF_TID },
	{ "birth", "kunwind_callstack", NUMBER, CTF_BIRTH },
	{ "execs", "kunwind_callstack", NUMBER, CTF_EXECS },
	{ "comm", "kunwind_callstack", TEXT, CTF_COMM },
	{ "nr", "kunwind_callstack", NUMBER, CTF_NR },
	{ "point", "kunwind_callstack", NUMBER, CTF_POINT },
	{ "reason", "kunwind_callstack", NUMBER, CTF_REASON },
	{ "pid", "kunwind_syscall_exit", NUMBER, CTF_PID },
	{ "tid", "kunwind_syscall_exit", NUMBER, CTF_TID },
	{ "ret", "kunwind_syscall_exit", NUMBER, CTF_RET },
	{ "pid", "kunwind_fork", NUMBER, CTF_SUBJECT_PID },
	{ "parent_pid", "kunwind_fork", NUMBER, CTF_PARENT_PID },
	{ "parent_birth", "kunwind_fork", NUMBER, CTF_PARENT_BIRTH },
	{ "birth", "kunwind_fork", NUMBER, CTF_BIRTH },
	{ "execs", "kunwind_fork", NUMBER, CTF_EXECS },
	{ "pid", "kunwind_exec", NUMBER, CTF_SUBJECT_PID },
	{ "birth", "kunwind_exec", NUMBER, CTF_BIRTH },
	{ "execs", "kunwind_exec", NUMBER, CTF_EXECS },
	{ "pid", "kunwind_map", NUMBER, CTF_SUBJECT_PID },
	{ "birth", "kunwind_map", NUMBER, CTF_BIRTH },
	{ "execs", "kunwind_map", NUMBER, CTF_EXECS },
	{ "start", "kunwind_map", NUMBER, CTF_START },
	{ "end", "kunwind_map", NUMBER, CTF_END },
	{ "offset", "kunwind_map", NUMBER, CTF_OFFSET },
	{ "path", "kunwind_map", TEXT, CTF_PATH },
	{ "build_id", "kunwind_map", LIST, CTF_BUILD_ID },
	{ "callstack_user_unwind", "kunwind_callstack", LIST, CTF_USER_STACK },
	{ "ret", "syscall_exit_*", NUMBER, CTF_RET },
	{ "next_tid", "sched_switch", NUMBER, CTF_NEXT_TID },
};

static bool number_of(const bt_field *f, int64_t *ret)
{
	bt_field_class_type type = bt_field_get_class_type(f);

	if (bt_field_class_type_is(type, BT_FIELD_CLASS_TYPE_UNSIGNED_INTEGER))
		*ret = (int64_t)bt_field_integer_unsigned_get_value(f);
	else if (bt_field_class_type_is(type,
					BT_FIELD_CLASS_TYPE_SIGNED_INTEGER))
		*ret = bt_field_integer_signed_get_value(f);
	else
		return false;
	return true;
}

static void take_list(const bt_field *f, unsigned int index,
		      struct ctf_event *ret)
{
	uint64_t i, nr;
	int64_t value;

	if (!bt_field_class_type_is(bt_field_get_class_type(f),
				    BT_FIELD_CLASS_TYPE_ARRAY))
		return;
	nr = bt_field_array_get_length(f);
	if (nr > CTF_MAX_LIST)
		nr = CTF_MAX_LIST;
	for (i = 0; i < nr; i++) {
		if (!number_of(
			    bt_field_array_borrow_element_field_by_index_const(
				    f, i),
			    &value))
			return;
		ret->lists[index][i] = (uint64_t)value;
	}
	ret->nr[index] = (size_t)nr;
	ret->has_list[index] = true;
}

static void take(const bt_field *f, const struct known *k,
		 struct ctf_event *ret)
{
	if (k->kind == LIST) {
		take_list(f, k->index, ret);
	} else if (k->kind == NUMBER) {
		if (number_of(f, &ret->numbers[k->index]))
			ret->has |= 1u << k->index;
	} else if (bt_field_class_type_is(bt_field_get_class_type(f),
					  BT_FIELD_CLASS_TYPE_STRING)) {
		ret->texts[k->index] = bt_field_string_get_value(f);
	}
}

static bool is_of(const struct known *k, const char *event)
{
	size_t size;

	if (!event || !k->event)
		return !event && !k->event;
	size = strlen(k->event) - 1;
	return k->event[size] == '*' ? strncmp(event, k->event, size) == 0 :
				       strcmp(event, k->event) == 0;
}

/* event: whose payload f is, or NULL for a context. */
static void take_all(const bt_field *f, const char *event,
		     struct ctf_event *ret)
{
	const bt_field_class_structure_member *member;
	const bt_field_class *class;
	const char *name;
	uint64_t i, nr;
	size_t k;

	if (!f || bt_field_get_class_type(f) != BT_FIELD_CLASS_TYPE_STRUCTURE)
		return;
	class = bt_field_borrow_class_const(f);
	nr = bt_field_class_structure_get_member_count(class);
	for (i = 0; i < nr; i++) {
		member = bt_field_class_structure_borrow_member_by_index_const(
			class, i);
		name = bt_field_class_structure_member_get_name(member);
		for (k = 0; k < sizeof(table) / sizeof(table[0]); k++)
			if (is_of(&table[k], event) &&
			    strcmp(table[k].name, name) == 0)
				take(bt_field_structure_borrow_member_field_by_index_const(
					     f, i),
				     &table[k], ret);
	}
}

/* What the environment of a stream's trace says; NULL: nothing. */
static const bt_value *environment(const bt_stream *stream, const char *name)
{
	return bt_trace_borrow_environment_entry_value_by_name_const(
		bt_stream_borrow_trace_const(stream), name);
}

static const char *host_of(const bt_event *event)
{
	const bt_value *v =
		environment(bt_event_borrow_stream_const(event), "hostname");

	return v && bt_value_get_type(v) == BT_VALUE_TYPE_STRING ?
		       bt_value_string_get(v) :
		       "";
}

bool ctf_fields_are_kernels(const bt_stream *stream)
{
	const bt_value *v = environment(stream, "domain");

	return !v || (bt_value_get_type(v) == BT_VALUE_TYPE_STRING &&
		      strcmp(bt_value_string_get(v), "kernel") == 0);
}

bool ctf_fields_tell_maps(const bt_stream *stream)
{
	const bt_stream_class *class = bt_stream_borrow_class_const(stream);
	uint64_t i, nr = bt_stream_class_get_event_class_count(class);
	const char *name;

	for (i = 0; i < nr; i++) {
		name = bt_event_class_get_name(
			bt_stream_class_borrow_event_class_by_index_const(class,
									  i));
		if (name && (strcmp(name, "kunwind_map") == 0 ||
			     strcmp(name, "kunwind_exec") == 0 ||
			     strcmp(name, "kunwind_fork") == 0))
			return true;
	}
	return false;
}

void ctf_fields_take(const bt_event *event, struct ctf_event *ret)
{
	const char *name =
		bt_event_class_get_name(bt_event_borrow_class_const(event));

	ret->name = name ? name : "";
	ret->host = host_of(event);
	ret->has = 0;
	memset(ret->texts, 0, sizeof(ret->texts));
	memset(ret->has_list, 0, sizeof(ret->has_list));
	memset(ret->nr, 0, sizeof(ret->nr));
	take_all(bt_event_borrow_common_context_field_const(event), NULL, ret);
	take_all(bt_event_borrow_specific_context_field_const(event), NULL,
		 ret);
	take_all(bt_event_borrow_payload_field_const(event), ret->name, ret);
}
