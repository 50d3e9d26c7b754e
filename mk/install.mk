# make install PREFIX=DIR [DESTDIR=DIR], and a test of what it installs.

bash_dir := $(PREFIX)/share/bash-completion/completions
zsh_dir := $(PREFIX)/share/zsh/site-functions
man_pages := $(wildcard man/*.[1-9])

install: all
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(LIBDIR)/pkgconfig \
		$(DESTDIR)$(PREFIX)/include/outwind
	install -m 755 $(B)/bin/outwind $(B)/bin/tbstack $(B)/bin/symbolize $(B)/bin/uniprof \
		$(DESTDIR)$(PREFIX)/bin
	install -m 755 $(B)/lib/liboutwind.so.$(VERSION) $(DESTDIR)$(LIBDIR)
	ln -sf liboutwind.so.$(VERSION) \
		$(DESTDIR)$(LIBDIR)/liboutwind.so.$(SOVERSION)
	ln -sf liboutwind.so.$(SOVERSION) $(DESTDIR)$(LIBDIR)/liboutwind.so
	install -m 644 $(B)/lib/liboutwind.a $(DESTDIR)$(LIBDIR)
	install -m 755 $(B)/lib/libkunwind.so.$(VERSION) $(DESTDIR)$(LIBDIR)
	ln -sf libkunwind.so.$(VERSION) \
		$(DESTDIR)$(LIBDIR)/libkunwind.so.$(SOVERSION)
	ln -sf libkunwind.so.$(SOVERSION) $(DESTDIR)$(LIBDIR)/libkunwind.so
	install -m 644 include/outwind/outwind.h include/outwind/xen.h \
		include/outwind/record.h include/outwind/kunwind.h \
		uapi/ow_frame.h uapi/ow_kunwind.h \
		$(DESTDIR)$(PREFIX)/include/outwind
	sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@LIBDIR@|$(LIBDIR)|' \
		-e 's|@VERSION@|$(VERSION)|' -e 's|@BPF_LIBS@|$(bpf_libs)|' \
		lib/outwind.pc.in \
		>$(DESTDIR)$(LIBDIR)/pkgconfig/outwind.pc
	sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@LIBDIR@|$(LIBDIR)|' \
		-e 's|@VERSION@|$(VERSION)|' libkunwind/kunwind.pc.in \
		>$(DESTDIR)$(LIBDIR)/pkgconfig/kunwind.pc
	sh scripts/install-compat.sh $(compat_dir) "$(DESTDIR)" "$(PREFIX)" \
		"$(LIBDIR)"
	for m in $(man_pages); do \
		d=$(DESTDIR)$(PREFIX)/share/man/man$${m##*.}; \
		install -d $$d && install -m 644 $$m $$d || exit 1; done
	install -d $(DESTDIR)$(bash_dir) $(DESTDIR)$(zsh_dir)
	install -m 644 completions/outwind.bash $(DESTDIR)$(bash_dir)/outwind
	ln -sf outwind $(DESTDIR)$(bash_dir)/tbstack
	ln -sf outwind $(DESTDIR)$(bash_dir)/symbolize
	ln -sf outwind $(DESTDIR)$(bash_dir)/uniprof
	install -m 644 completions/_outwind $(DESTDIR)$(zsh_dir)

uninstall:
	rm -f $(DESTDIR)$(PREFIX)/bin/outwind \
		$(DESTDIR)$(PREFIX)/bin/tbstack \
		$(DESTDIR)$(PREFIX)/bin/symbolize $(DESTDIR)$(PREFIX)/bin/uniprof \
		$(DESTDIR)$(LIBDIR)/liboutwind.* \
		$(DESTDIR)$(LIBDIR)/libkunwind.so* \
		$(DESTDIR)$(LIBDIR)/pkgconfig/outwind.pc \
		$(DESTDIR)$(LIBDIR)/pkgconfig/kunwind.pc \
		$(DESTDIR)$(bash_dir)/outwind $(DESTDIR)$(bash_dir)/tbstack \
		$(DESTDIR)$(bash_dir)/symbolize $(DESTDIR)$(bash_dir)/uniprof \
		$(DESTDIR)$(zsh_dir)/_outwind
	rm -rf $(DESTDIR)$(PREFIX)/include/outwind $(DESTDIR)$(LIBDIR)/outwind
	for m in $(notdir $(man_pages)); do \
		rm -f $(DESTDIR)$(PREFIX)/share/man/man$${m##*.}/$$m; done

check-install: all
	sh scripts/check-install.sh $(VERSION)

demo: deps-build
	@$(MAKE) --no-print-directory -s all
	@sh scripts/demo.sh $(B)/bin/outwind

.PHONY: install uninstall check-install demo
